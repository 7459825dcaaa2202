#include "graph/message_encoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/packed_list.h"

namespace neffcache {
namespace {

constexpr int kDepthLimit = 64;
constexpr size_t kLongestRemembered = 256;
constexpr size_t kMostRemembered = size_t{1} << 20;

bool IsLong(absl::string_view bytes) {
  return bytes.size() > kInlineLimit;
}

void PutHashed(size_t size, const Digest& digest, Encoding* out) {
  out->PutByte(kHashed);
  out->PutVarint(size);
  out->PutRaw(digest.bytes());
}

// Whether a protobuf reader that knows the field would take it.
bool IsWellFormed(const FieldSchema& field, const WireField& value, int depth) {
  if (value.type != WireType::kBytes || field.type != FieldType::kMessage) {
    if (value.type != WireType::kBytes || field.presence != Presence::kRepeated) return true;
    if (IsVarint(field.type)) return ForEachPacked(value.bytes, [](uint64_t) {});
    const size_t width = field.type == FieldType::kFloat    ? 4
                         : field.type == FieldType::kDouble ? 8
                                                            : 1;
    return value.bytes.size() % width == 0;
  }
  if (depth == kDepthLimit) return false;
  WireReader reader(value.bytes);
  for (WireField inner; reader.Next(&inner);) {
    if (field.message == HloMessage::kCount) continue;  // Never looked into.
    const MessageSchema& schema = SchemaOf(field.message);
    if (schema.Fits(inner.number, inner.type) &&
        !IsWellFormed(*schema.Find(inner.number), inner, depth + 1)) {
      return false;
    }
  }
  return !reader.damaged();
}

}  // namespace

bool MessageEncoder::Fail(std::string why) {
  if (error_.empty()) error_ = std::move(why);
  return false;
}

bool MessageEncoder::Read(const MessageSchema& schema, absl::string_view bytes, Fields* fields,
                          uint32_t without) {
  fields->begin = stack_.size();
  if (!ReadInto(bytes, without)) return Fail(absl::StrCat(schema.name, " is damaged"));
  return Order(schema, fields);
}

bool MessageEncoder::ReadMerged(const MessageSchema& schema, Fields pieces, Fields* fields) {
  fields->begin = stack_.size();
  for (size_t i = pieces.begin; i < pieces.end; ++i) {
    if (!ReadInto(stack_[i].bytes, 0)) return Fail(absl::StrCat(schema.name, " is damaged"));
  }
  return Order(schema, fields);
}

bool MessageEncoder::ReadInto(absl::string_view bytes, uint32_t without) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number != without) stack_.push_back(field);
  }
  return !reader.damaged();
}

bool MessageEncoder::Order(const MessageSchema& schema, Fields* fields) {
  bool sorted = true;
  int oneof_members = 0;
  uint32_t before = 0;
  for (size_t i = fields->begin; i < stack_.size(); ++i) {
    const uint32_t number = stack_[i].number;
    sorted &= before <= number;
    before = number;
    oneof_members += schema.OneofOf(number) != 0;
  }
  if (oneof_members > 1 && !KeepLastOfOneofs(schema, fields)) return false;
  if (!sorted) {
    std::stable_sort(stack_.begin() + static_cast<std::ptrdiff_t>(fields->begin), stack_.end(),
                     [](const WireField& a, const WireField& b) { return a.number < b.number; });
  }
  fields->end = stack_.size();
  return true;
}

// Of the members of a oneof the last one stands, without what came before another member. What is
// replaced must be well-formed all the same: no protobuf reader takes a damaged message.
bool MessageEncoder::KeepLastOfOneofs(const MessageSchema& schema, Fields* fields) {
  const auto oneof_of = [&](const WireField& f) -> uint8_t {
    return schema.Fits(f.number, f.type) ? schema.OneofOf(f.number) : 0;
  };
  constexpr size_t kOneofs = 3;  // Numbers that the schema gives out, and 0.
  uint32_t winner[kOneofs] = {};
  bool closed[kOneofs] = {};  // Another member was met: what is before it has been replaced.
  size_t write = stack_.size();
  for (size_t i = write; i-- > fields->begin;) {
    const uint8_t oneof = oneof_of(stack_[i]);
    if (oneof != 0) {
      if (winner[oneof] == 0) winner[oneof] = stack_[i].number;
      if (stack_[i].number != winner[oneof]) closed[oneof] = true;
      if (closed[oneof]) {
        const FieldSchema& field = *schema.Find(stack_[i].number);
        if (!IsWellFormed(field, stack_[i], 0)) {
          return Fail(absl::StrCat(schema.name, " field ", field.number, " is damaged"));
        }
        continue;
      }
    }
    --write;
    if (write != i) stack_[write] = stack_[i];
  }
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(fields->begin);
  stack_.erase(begin, stack_.begin() + static_cast<std::ptrdiff_t>(write));
  return true;
}

void MessageEncoder::Replace(Fields* fields, uint32_t number, const WireField& field) {
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(fields->begin);
  stack_.erase(std::remove_if(begin, stack_.end(),
                              [&](const WireField& f) {
                                return f.number == number || f.number == field.number;
                              }),
               stack_.end());
  const auto at =
      std::find_if(stack_.begin() + static_cast<std::ptrdiff_t>(fields->begin), stack_.end(),
                   [&](const WireField& f) { return f.number > field.number; });
  stack_.insert(at, field);
  fields->end = stack_.size();
}

bool MessageEncoder::EncodeFields(const MessageSchema& schema, Fields fields, Encoding* out) {
  for (size_t i = fields.begin; i < fields.end;) {
    const size_t next = GroupEnd(i, fields.end);
    if (!EncodeGroup(schema, {i, next}, out)) return false;
    i = next;
  }
  out->PutVarint(0);  // No field has this number.
  return true;
}

bool MessageEncoder::EncodeOnly(const MessageSchema& schema, Fields fields, uint32_t number,
                                Encoding* out) {
  for (size_t i = fields.begin; i < fields.end;) {
    const size_t next = GroupEnd(i, fields.end);
    if (stack_[i].number == number && !EncodeGroup(schema, {i, next}, out)) return false;
    i = next;
  }
  out->PutVarint(0);
  return true;
}

bool MessageEncoder::FailUnknown(const MessageSchema& schema, uint32_t number) {
  return Fail(absl::StrCat(schema.name, " field ", number,
                           schema.Find(number) == nullptr
                               ? " is unknown"
                               : " has another type than the one that is known"));
}

bool MessageEncoder::EncodeGroup(const MessageSchema& schema, Fields group, Encoding* out) {
  const uint32_t number = stack_[group.begin].number;
  const FieldSchema* const field = schema.Find(number);
  if (field == nullptr) return EncodeUnknown(schema, group, out);
  bool all_fit = true;
  for (size_t i = group.begin; i < group.end; ++i) all_fit &= schema.Fits(number, stack_[i].type);
  if (all_fit) return EncodeKnown(*field, group, out);
  // Occurrences with a foreign wire type are another field that happens to share the number.
  const size_t copy = stack_.size();
  for (const bool fits : {true, false}) {
    for (size_t i = group.begin; i < group.end; ++i) {
      const WireField occurrence = stack_[i];
      if (schema.Fits(number, occurrence.type) == fits) stack_.push_back(occurrence);
    }
    const Fields part = {copy, stack_.size()};
    const bool encoded = part.begin == part.end ||
                         (fits ? EncodeKnown(*field, part, out) : EncodeUnknown(schema, part, out));
    stack_.resize(copy);
    if (!encoded) return false;
  }
  return true;
}

bool MessageEncoder::EncodeKnown(const FieldSchema& field, Fields group, Encoding* out) {
  switch (field.treatment) {
    case Treatment::kDrop:
      return true;
    case Treatment::kMap:
      return EncodeMap(field, group, out);
    case Treatment::kResolve: {
      absl::optional<absl::string_view> bytes;
      if (!Resolve(group, &bytes)) return false;
      out->PutHeader(field.number, bytes.has_value() ? Kind::kResolved : Kind::kMessage);
      if (bytes.has_value()) {
        EncodeString(*bytes, out);
      } else {
        out->PutVarint(0);
      }
      return true;
    }
    case Treatment::kKeep:
    case Treatment::kKeepIfFilled:
    case Treatment::kSort:
    case Treatment::kDropAllZero:
    case Treatment::kDropAllTrue:
    case Treatment::kDropOne:
      break;
    default:
      return Fail(absl::StrCat("field ", field.number, " stands where none is expected"));
  }
  if (field.type == FieldType::kMessage) {
    return field.presence == Presence::kRepeated ? EncodeMessages(field, group, out)
                                                 : EncodeMessage(field, group, out);
  }
  if (field.presence != Presence::kRepeated) {
    return EncodeScalar(field, stack_[group.end - 1], out);
  }
  if (IsVarint(field.type)) return EncodeVarints(field, group, out);
  if (field.type == FieldType::kFloat || field.type == FieldType::kDouble) {
    return EncodeFixed(field, group, out);
  }
  out->PutHeader(field.number, Kind::kStringList);
  out->PutVarint(group.end - group.begin);
  for (size_t i = group.begin; i < group.end; ++i) EncodeString(stack_[i].bytes, out);
  return true;
}

bool MessageEncoder::EncodeScalar(const FieldSchema& field, const WireField& last, Encoding* out) {
  const bool implicit = field.presence == Presence::kImplicit;
  if (IsVarint(field.type)) {
    const uint64_t value = ReadAs(field.type, last.value);
    if (implicit && value == 0) return true;
    if (field.treatment == Treatment::kDropOne && value == 1) return true;
    out->PutHeader(field.number, Kind::kVarint);
    out->PutVarint(value);
  } else if (field.type == FieldType::kFloat) {
    if (implicit && LoadFixed32(last.bytes) == 0) return true;
    out->PutHeader(field.number, Kind::kFixed32);
    out->PutRaw(last.bytes);
  } else if (field.type == FieldType::kDouble) {
    if (implicit && LoadFixed64(last.bytes) == 0) return true;
    out->PutHeader(field.number, Kind::kFixed64);
    out->PutRaw(last.bytes);
  } else {
    if (implicit && last.bytes.empty()) return true;
    const absl::string_view bytes = last.bytes;
    out->PutHeader(field.number, Kind::kString);
    EncodeString(bytes, out);
  }
  return true;
}

bool MessageEncoder::EncodeMessage(const FieldSchema& field, Fields group, Encoding* out) {
  if (field.treatment == Treatment::kKeepIfFilled) {
    bool filled = false;
    for (size_t i = group.begin; i < group.end; ++i) filled |= !stack_[i].bytes.empty();
    if (!filled) return true;
  }
  out->PutHeader(field.number, Kind::kMessage);
  // Instructions have their shapes, dimensions and attributes in common. Only at the top, so that
  // nothing is nested deeper for having been seen before, and without payloads, whose use is noted.
  const absl::string_view bytes = stack_[group.begin].bytes;
  const bool remembered = depth_ == 0 && group.end - group.begin == 1 &&
                          bytes.size() <= kLongestRemembered && payloads_->rows.empty();
  auto& known = known_[static_cast<size_t>(field.message)];
  if (remembered) {
    if (const auto it = known.find(bytes); it != known.end()) {
      out->PutRaw(known_text_.view(it->second.first, it->second.second));
      return true;
    }
  }
  const size_t begin = out->size();
  if (depth_ == kDepthLimit) return Fail("messages are nested more than 64 deep");
  ++depth_;
  const MessageSchema& schema = SchemaOf(field.message);
  Fields fields;
  if (!ReadMerged(schema, group, &fields)) return false;
  if (!EncodeFields(schema, fields, out)) return false;
  Release(fields);
  --depth_;
  if (remembered && known_text_.size() < kMostRemembered) {
    const size_t start = known_text_.size();
    known_text_.PutRaw(out->view(begin, out->size()));
    known.emplace(bytes, std::make_pair(start, known_text_.size()));
  }
  return true;
}

bool MessageEncoder::EncodeMessages(const FieldSchema& field, Fields group, Encoding* out) {
  if (depth_ == kDepthLimit) return Fail("messages are nested more than 64 deep");
  ++depth_;
  const MessageSchema& schema = SchemaOf(field.message);
  const bool sorted = field.treatment == Treatment::kSort;
  out->PutHeader(field.number, sorted ? Kind::kSet : Kind::kMessageList);
  out->PutVarint(group.end - group.begin);
  const size_t begin = out->size();
  std::vector<std::pair<size_t, size_t>> items;
  for (size_t i = group.begin; i < group.end; ++i) {
    const size_t item = out->size();
    Fields fields;
    if (!Read(schema, stack_[i].bytes, &fields)) return false;
    if (!EncodeFields(schema, fields, out)) return false;
    Release(fields);
    if (sorted) items.emplace_back(item, out->size());
  }
  if (sorted) {
    const std::string text(out->view(begin, out->size()));
    const auto view = [&](const std::pair<size_t, size_t>& item) {
      return absl::string_view(text).substr(item.first - begin, item.second - item.first);
    };
    std::sort(items.begin(), items.end(),
              [&](const auto& a, const auto& b) { return view(a) < view(b); });
    out->Truncate(begin);
    for (const auto& item : items) out->PutRaw(view(item));
  }
  --depth_;
  return true;
}

// Keys are unique, the last one wins, and their order on the wire means nothing.
bool MessageEncoder::EncodeMap(const FieldSchema& field, Fields group, Encoding* out) {
  const MessageSchema& schema = SchemaOf(field.message);
  std::vector<std::pair<absl::string_view, absl::string_view>> entries;
  for (size_t i = group.begin; i < group.end; ++i) {
    WireReader reader(stack_[i].bytes);
    WireField part;
    absl::string_view key, value;
    while (reader.Next(&part)) {
      const FieldSchema* known = schema.Find(part.number);
      if (known == nullptr || part.type != WireType::kBytes) {
        return Fail(absl::StrCat("map entry field ", part.number, " is unknown"));
      }
      (part.number == 1 ? key : value) = part.bytes;
    }
    if (reader.damaged()) return Fail("map entry is damaged");
    entries.emplace_back(key, value);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t unique = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i + 1 < entries.size() && entries[i + 1].first == entries[i].first) continue;
    entries[unique++] = entries[i];
  }
  out->PutHeader(field.number, Kind::kMap);
  out->PutVarint(unique);
  for (size_t i = 0; i < unique; ++i) {
    EncodeString(entries[i].first, out);
    EncodeString(entries[i].second, out);
  }
  return true;
}

bool MessageEncoder::EncodeVarints(const FieldSchema& field, Fields group, Encoding* out) {
  uint64_t count = 0;
  bool dropped =
      field.treatment == Treatment::kDropAllZero || field.treatment == Treatment::kDropAllTrue;
  const uint64_t inert = field.treatment == Treatment::kDropAllTrue ? 1 : 0;
  bool canonical = true;  // The wire bytes are the canonical ones.
  for (size_t i = group.begin; i < group.end; ++i) {
    const WireField& f = stack_[i];
    if (f.type == WireType::kVarint) {
      ++count;
      canonical = false;
      dropped &= ReadAs(field.type, f.value) == inert;
      continue;
    }
    count += CountVarints(f.bytes);
    canonical = canonical && IsCanonicalPacked(field.type, f.bytes);
    if (dropped && !ForEachPacked(f.bytes, [&](uint64_t value) {
          dropped &= ReadAs(field.type, value) == inert;
        })) {
      return Fail(absl::StrCat("packed field ", field.number, " is damaged"));
    }
  }
  if (count == 0) {
    for (size_t i = group.begin; i < group.end; ++i) {
      if (!stack_[i].bytes.empty()) {
        return Fail(absl::StrCat("packed field ", field.number, " is damaged"));
      }
    }
    return true;
  }
  if (dropped) return true;
  out->PutHeader(field.number, Kind::kVarintList);
  out->PutVarint(count);
  if (canonical && group.end - group.begin == 1) {
    EncodeString(stack_[group.begin].bytes, out);
    return true;
  }
  ListBody body(out);
  for (size_t i = group.begin; i < group.end; ++i) {
    const WireField& f = stack_[i];
    if (f.type == WireType::kVarint) {
      body.Add(ReadAs(field.type, f.value));
    } else if (!ForEachPacked(f.bytes,
                              [&](uint64_t value) { body.Add(ReadAs(field.type, value)); })) {
      return Fail(absl::StrCat("packed field ", field.number, " is damaged"));
    }
  }
  body.Finish();
  return true;
}

bool MessageEncoder::EncodeFixed(const FieldSchema& field, Fields group, Encoding* out) {
  const size_t width = field.type == FieldType::kFloat ? 4 : 8;
  uint64_t count = 0;
  for (size_t i = group.begin; i < group.end; ++i) {
    const size_t size = stack_[i].bytes.size();
    if (size % width != 0) return Fail(absl::StrCat("packed field ", field.number, " is damaged"));
    count += size / width;
  }
  if (count == 0) return true;
  out->PutHeader(field.number, width == 4 ? Kind::kFixed32List : Kind::kFixed64List);
  out->PutVarint(count);
  if (group.end - group.begin == 1) {
    EncodeString(stack_[group.begin].bytes, out);
    return true;
  }
  ListBody body(out);
  for (size_t i = group.begin; i < group.end; ++i) body.Add(stack_[i].bytes);
  body.Finish();
  return true;
}

bool MessageEncoder::EncodeUnknown(const MessageSchema& schema, Fields group, Encoding* out) {
  const uint32_t number = stack_[group.begin].number;
  if (schema.guarded && !schema.IsInert(number)) return FailUnknown(schema, number);
  out->PutHeader(number, Kind::kUnknownList);
  out->PutVarint(group.end - group.begin);
  for (size_t i = group.begin; i < group.end; ++i) {
    const WireField f = stack_[i];
    out->PutByte(static_cast<char>(f.type));
    switch (f.type) {
      case WireType::kVarint:
        out->PutVarint(f.value);
        break;
      case WireType::kBytes:
        EncodeString(f.bytes, out);
        break;
      case WireType::kFixed32:
      case WireType::kFixed64:
        out->PutRaw(f.bytes);
        break;
    }
  }
  return true;
}

void MessageEncoder::EncodeString(absl::string_view bytes, Encoding* out) {
  if (!IsLong(bytes)) return EncodeTemporary(bytes, out);
  auto [it, added] = digests_.try_emplace(bytes.data());
  if (added || it->second.first != bytes.size()) {
    it->second = {bytes.size(), long_strings_->DigestOf(bytes)};
  }
  PutHashed(bytes.size(), it->second.second, out);
}

void MessageEncoder::EncodeTemporary(absl::string_view bytes, Encoding* out) {
  if (IsLong(bytes)) return PutHashed(bytes.size(), Sha256Of(bytes), out);
  out->PutByte(kInline);
  out->PutBlob(bytes);
}

bool MessageEncoder::Resolve(Fields payload, absl::optional<absl::string_view>* bytes) {
  const MessageSchema& schema = SchemaOf(HloMessage::kPayload);
  Fields fields;
  if (!ReadMerged(schema, payload, &fields)) return false;
  for (size_t i = fields.begin; i < fields.end; ++i) {
    const WireField& f = stack_[i];
    if (!schema.Fits(f.number, f.type)) {
      return Fail(absl::StrCat("payload field ", f.number, " is unknown"));
    }
  }
  if (fields.begin < fields.end) {
    const WireField& last = stack_[fields.end - 1];  // Of ids, too, the last one stands.
    if (last.number == 1) {
      *bytes = last.bytes;
    } else if (last.value >= payloads_->rows.size()) {
      return Fail(absl::StrCat("payload ", static_cast<int64_t>(last.value), " does not exist"));
    } else {
      *bytes = payloads_->rows[last.value];
      payloads_->referenced[last.value] = true;
    }
  }
  Release(fields);
  return true;
}

bool MessageEncoder::NoteMetadataPayloads(Fields metadata) {
  constexpr uint32_t kMetadataPayload = 20;
  const size_t begin = stack_.size();
  for (size_t i = metadata.begin; i < metadata.end; ++i) {
    WireReader reader(stack_[i].bytes);
    for (WireField field; reader.Next(&field);) {
      if (field.number == kMetadataPayload && field.type == WireType::kBytes) {
        stack_.push_back(field);
      }
    }
    if (reader.damaged()) return Fail("metadata is damaged");
  }
  absl::optional<absl::string_view> ignored;
  const bool resolved = Resolve({begin, stack_.size()}, &ignored);
  stack_.resize(begin);
  return resolved;
}

}  // namespace neffcache
