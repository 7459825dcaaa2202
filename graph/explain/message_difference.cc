#include "graph/explain/message_difference.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/explain/list_elements.h"
#include "graph/explain/printable.h"
#include "graph/wire.h"

namespace neffcache {
namespace {

using Fields = MessageEncoder::Fields;

constexpr size_t kLongestKey = 60;

bool Empty(Fields group) {
  return group.begin == group.end;
}

bool AllFit(const MessageEncoder& encoder, const MessageSchema& schema, Fields group) {
  for (size_t i = group.begin; i < group.end; ++i) {
    if (!schema.Fits(encoder.At(i).number, encoder.At(i).type)) return false;
  }
  return true;
}

// The names within these say enough.
bool SpeaksForItself(const FieldSchema& field) {
  return absl::EndsWith(field.name, "_dimension_numbers") ||
         absl::EndsWith(field.name, "_attributes");
}

std::string Joined(const std::string& path, absl::string_view name) {
  return path.empty() ? std::string(name) : absl::StrCat(path, ".", name);
}

}  // namespace

bool MessageDiffer::Equal(const MessageSchema& schema, Fields before, Fields after) {
  before_form_.Truncate(0);
  after_form_.Truncate(0);
  if (!Empty(before)) before_.EncodeGroup(schema, before, &before_form_);
  if (!Empty(after)) after_.EncodeGroup(schema, after, &after_form_);
  return before_form_.view() == after_form_.view();
}

void MessageDiffer::CompareGroup(HloMessage message, Fields before, Fields after,
                                 const std::string& path, FieldChanges* changes) {
  const MessageSchema& schema = SchemaOf(message);
  if (Equal(schema, before, after)) return;
  if (changes->full()) return changes->Add("", "");
  const uint32_t number =
      Empty(before) ? after_.At(after.begin).number : before_.At(before.begin).number;
  const FieldSchema* const field = schema.Find(number);
  if (field == nullptr) {
    return AddTexts(message, before, after, Joined(path, absl::StrCat("unknown field ", number)),
                    changes);
  }
  std::string here = Joined(path, field->name);
  if (!AllFit(before_, schema, before) || !AllFit(after_, schema, after)) {
    return AddTexts(message, before, after, here, changes);
  }
  if (field->treatment == Treatment::kResolve) {
    return ComparePayloads(message, before, after, here, changes);
  }
  if (field->treatment == Treatment::kSort) {
    return CompareSets(*field, before, after, path, changes);
  }
  if (field->treatment == Treatment::kMap) return CompareMaps(before, after, path, changes);
  if (field->type == FieldType::kMessage) {
    if (field->message == HloMessage::kCount) {
      return AddTexts(message, before, after, here, changes);
    }
    if (field->presence == Presence::kRepeated) {
      return CompareLists(*field, before, after, here, changes);
    }
    const bool attributes = field->message == HloMessage::kFrontendAttributes;
    if (attributes) here = Joined(path, "frontend attribute");
    // An absent message of named members is all of them absent.
    if (!attributes && field->treatment != Treatment::kKeepIfFilled &&
        (Empty(before) || Empty(after))) {
      return AddTexts(message, before, after, here, changes);
    }
    if (SpeaksForItself(*field) && !attributes) here = path;
    return CompareMessages(field->message, before, after, here, changes);
  }
  ElementType type;
  if (field->type != FieldType::kEnum && ElementTypeOf(message, *field, &type)) {
    changes->Add(here, ListChange(ListReader(before_, before, *field, type),
                                  ListReader(after_, after, *field, type), type));
  } else if (field->type == FieldType::kString || field->type == FieldType::kBytes) {
    if (field->presence == Presence::kRepeated || Empty(before) || Empty(after)) {
      AddTexts(message, before, after, here, changes);
    } else {
      changes->Add(here,
                   TextChange(before_.At(before.end - 1).bytes, after_.At(after.end - 1).bytes));
    }
  } else {
    AddTexts(message, before, after, here, changes);
  }
}

void MessageDiffer::CompareMessages(HloMessage type, Fields before, Fields after,
                                    const std::string& path, FieldChanges* changes) {
  if (type == HloMessage::kShape) {
    // One text says it all, unless the change is not in the text.
    for (const HloText::Layouts layouts : {HloText::Layouts::kHide, HloText::Layouts::kShow}) {
      const std::string b = before_text_.Shape(before, layouts);
      const std::string a = after_text_.Shape(after, layouts);
      if (b != a) return changes->Add(path, absl::StrCat(b, kBecomes, a));
    }
  }
  const MessageSchema& schema = SchemaOf(type);
  Fields b, a;
  if (!before_.ReadMerged(schema, before, &b) || !after_.ReadMerged(schema, after, &a)) return;
  const uint64_t count = changes->count();
  ForEachGroup(b, a, [&](uint32_t, Fields before_group, Fields after_group) {
    CompareGroup(type, before_group, after_group, path, changes);
  });
  before_.Release(b);
  after_.Release(a);
  // Presence alone, or defaults that are kept.
  if (changes->count() == count) {
    changes->Add(path, absl::StrCat(Empty(before) ? "absent" : "{}", kBecomes,
                                    Empty(after) ? "absent" : "{}"));
  }
}

void MessageDiffer::CompareLists(const FieldSchema& field, Fields before, Fields after,
                                 const std::string& path, FieldChanges* changes) {
  const size_t b_count = before.end - before.begin;
  const size_t a_count = after.end - after.begin;
  if (b_count != a_count) {
    changes->Add(path, absl::StrCat(b_count, kBecomes, a_count, " entries"));
    return;
  }
  const MessageSchema& schema = SchemaOf(field.message);
  for (size_t i = 0; i < b_count && !changes->full(); ++i) {
    Fields b, a;
    if (!before_.Read(schema, before_.At(before.begin + i).bytes, &b)) return;
    if (!after_.Read(schema, after_.At(after.begin + i).bytes, &a)) return;
    const Fields b_one = {before.begin + i, before.begin + i + 1};
    const Fields a_one = {after.begin + i, after.begin + i + 1};
    const std::string here = absl::StrCat(path, "[", i, "]");
    if (field.message == HloMessage::kShape) {
      before_form_.Truncate(0);
      after_form_.Truncate(0);
      before_.EncodeFields(schema, b, &before_form_);
      after_.EncodeFields(schema, a, &after_form_);
      if (before_form_.view() != after_form_.view()) {
        CompareMessages(field.message, b_one, a_one, here, changes);
      }
    } else {
      ForEachGroup(b, a, [&](uint32_t, Fields before_group, Fields after_group) {
        CompareGroup(field.message, before_group, after_group, here, changes);
      });
    }
    before_.Release(b);
    after_.Release(a);
  }
}

void MessageDiffer::CompareSets(const FieldSchema& field, Fields before, Fields after,
                                const std::string& path, FieldChanges* changes) {
  const MessageSchema& schema = SchemaOf(field.message);
  const auto read = [&](MessageEncoder& encoder, Fields group) {
    std::vector<std::pair<std::string, size_t>> items;  // Canonical form and place.
    Encoding form;
    for (size_t i = group.begin; i < group.end; ++i) {
      Fields fields;
      if (!encoder.Read(schema, encoder.At(i).bytes, &fields)) break;
      form.Truncate(0);
      encoder.EncodeFields(schema, fields, &form);
      encoder.Release(fields);
      items.emplace_back(std::string(form.view()), i);
    }
    std::sort(items.begin(), items.end());
    return items;
  };
  const auto b = read(before_, before);
  const auto a = read(after_, after);
  size_t i = 0, k = 0;
  std::vector<size_t> gone, come;
  while (i < b.size() || k < a.size()) {
    if (k == a.size() || (i < b.size() && b[i].first < a[k].first)) {
      gone.push_back(b[i++].second);
    } else if (i == b.size() || a[k].first < b[i].first) {
      come.push_back(a[k++].second);
    } else {
      ++i;
      ++k;
    }
  }
  for (size_t n = 0; n < std::max(gone.size(), come.size()); ++n) {
    if (changes->full()) {
      changes->Add("", "");
      continue;
    }
    const std::string was = n < gone.size()
                                ? before_text_.SetEntry(field.message, before_.At(gone[n]).bytes)
                                : "absent";
    const std::string is =
        n < come.size() ? after_text_.SetEntry(field.message, after_.At(come[n]).bytes) : "absent";
    changes->Add(path, absl::StrCat(was, kBecomes, is));
  }
}

void MessageDiffer::CompareMaps(Fields before, Fields after, const std::string& path,
                                FieldChanges* changes) {
  const auto read = [](const MessageEncoder& encoder, Fields group) {
    std::map<absl::string_view, absl::string_view> entries;
    for (size_t i = group.begin; i < group.end; ++i) {
      absl::string_view key, value;
      WireReader reader(encoder.At(i).bytes);
      for (WireField part; reader.Next(&part);) {
        if (part.type == WireType::kBytes) (part.number == 1 ? key : value) = part.bytes;
      }
      entries[key] = value;
    }
    return entries;
  };
  const auto b = read(before_, before);
  const auto a = read(after_, after);
  const auto here = [&](absl::string_view key) {
    return absl::StrCat(path, path.empty() ? "" : " ", Printable(key, kLongestKey));
  };
  for (const auto& [key, value] : b) {
    const auto other = a.find(key);
    if (other == a.end()) {
      changes->Add(here(key), absl::StrCat(Quoted(value), kBecomes, "absent"));
    } else if (other->second != value) {
      changes->Add(here(key), TextChange(value, other->second));
    }
  }
  for (const auto& [key, value] : a) {
    if (!b.contains(key)) changes->Add(here(key), absl::StrCat("absent", kBecomes, Quoted(value)));
  }
}

void MessageDiffer::ComparePayloads(HloMessage message, Fields before, Fields after,
                                    const std::string& path, FieldChanges* changes) {
  absl::optional<absl::string_view> b, a;
  if (!Empty(before)) before_.Resolve(before, &b);
  if (!Empty(after)) after_.Resolve(after, &a);
  if (b.has_value() && a.has_value()) return changes->Add(path, TextChange(*b, *a));
  AddTexts(message, before, after, path, changes);
}

void MessageDiffer::AddTexts(HloMessage message, Fields before, Fields after,
                             const std::string& path, FieldChanges* changes) {
  const FieldSchema* const field = SchemaOf(message).Find(
      Empty(before) ? after_.At(after.begin).number : before_.At(before.begin).number);
  // A scalar that is left out has its default.
  const bool has_default =
      field != nullptr && field->presence == Presence::kImplicit && IsVarint(field->type);
  const auto text = [&](HloText& texts, Fields group) -> std::string {
    if (!Empty(group) || !has_default) return texts.Value(message, group);
    return field->type == FieldType::kBool ? "false" : "0";
  };
  std::string b = text(before_text_, before);
  std::string a = text(after_text_, after);
  if (b == a) a = "another that begins alike";
  changes->Add(path, absl::StrCat(b, kBecomes, a));
}

}  // namespace neffcache
