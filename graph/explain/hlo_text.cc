#include "graph/explain/hlo_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/explain/enum_names.h"
#include "graph/explain/list_elements.h"
#include "graph/explain/printable.h"
#include "graph/wire.h"

namespace neffcache {
namespace {

using Fields = MessageEncoder::Fields;

constexpr size_t kLongestValue = 110;  // Where nested text stops growing; it is cut in the end.
constexpr size_t kLongestString = 48;
constexpr int kDeepest = 8;

constexpr int64_t kTuple = 13;

bool Full(const std::string& out) {
  return out.size() > kLongestValue;
}

}  // namespace

std::string HloText::Shape(Fields shape, Layouts layouts) {
  std::string out;
  PutShape(shape, layouts, 0, &out);
  return Printable(out, kLongestValue);
}

std::string HloText::Value(HloMessage message, Fields group) {
  if (group.begin == group.end) return "absent";
  std::string out;
  PutValue(message, group, 0, &out);
  return Printable(out, kLongestValue);
}

std::string HloText::LiteralValue(Fields literal) {
  constexpr uint32_t kShape = 1;
  const MessageSchema& schema = SchemaOf(HloMessage::kLiteral);
  std::string text = "none";
  Fields fields;
  if (!encoder_.ReadMerged(schema, literal, &fields)) return text;
  for (size_t i = fields.begin; i < fields.end;) {
    const Fields group = {i, encoder_.GroupEnd(i, fields.end)};
    if (encoder_.At(i).number != kShape) text = Value(HloMessage::kLiteral, group);
    i = group.end;
  }
  encoder_.Release(fields);
  // One element alone needs no brackets.
  if (text.size() > 2 && text.front() == '[' && text.find(',') == std::string::npos) {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

std::string HloText::SetEntry(HloMessage type, absl::string_view entry) {
  const MessageSchema& schema = SchemaOf(type);
  Fields fields;
  if (!encoder_.Read(schema, entry, &fields)) return "?";
  std::string output, parameter = "0", index, kind = "undefined";
  for (size_t i = fields.begin; i < fields.end;) {
    const Fields group = {i, encoder_.GroupEnd(i, fields.end)};
    const FieldSchema* const field = schema.Find(encoder_.At(i).number);
    i = group.end;
    if (field == nullptr) continue;
    const absl::string_view name = field->name;
    std::string text = Value(type, group);
    if (text.front() == '[') text = text.substr(1, text.size() - 2);
    if (name == "output_shape_index") output = text;
    if (name == "parameter_number") parameter = text;
    if (name == "parameter_shape_index") index = text;
    if (name == "kind") kind = text;
  }
  encoder_.Release(fields);
  std::string from = absl::StrCat("parameter ", parameter, " {", index, "}");
  if (type != HloMessage::kAliasEntry) return from;
  return absl::StrCat("output {", output, "} is ", from, " (", kind, ")");
}

void HloText::PutShape(Fields shape, Layouts layouts, int depth, std::string* out) {
  constexpr uint32_t kElementType = 2, kDimensions = 3, kTupleShapes = 4, kLayout = 5, kDynamic = 6;
  if (depth > kDeepest) {
    absl::StrAppend(out, "\u2026");
    return;
  }
  const MessageSchema& schema = SchemaOf(HloMessage::kShape);
  Fields fields;
  if (!encoder_.ReadMerged(schema, shape, &fields)) return;
  int64_t element_type = 0;
  std::vector<uint64_t> dynamic;
  Fields dimensions = {0, 0}, tuple = {0, 0}, layout = {0, 0};
  for (size_t i = fields.begin; i < fields.end;) {
    const Fields group = {i, encoder_.GroupEnd(i, fields.end)};
    const WireField& last = encoder_.At(group.end - 1);
    i = group.end;
    if (!schema.Fits(last.number, last.type)) continue;
    const FieldSchema& field = *schema.Find(last.number);
    ElementType type;
    switch (last.number) {
      case kElementType:
        element_type = static_cast<int64_t>(ReadAs(FieldType::kEnum, last.value));
        break;
      case kDimensions:
        dimensions = group;
        break;
      case kTupleShapes:
        tuple = group;
        break;
      case kLayout:
        layout = group;
        break;
      case kDynamic: {
        ElementTypeOf(HloMessage::kShape, field, &type);
        ListReader reader(encoder_, group, field, type);
        for (uint64_t bit; dynamic.size() < kLongestValue && reader.Next(&bit);) {
          dynamic.push_back(bit);
        }
        break;
      }
      default:
        break;
    }
  }
  if (element_type == kTuple || tuple.begin != tuple.end) {
    absl::StrAppend(out, "(");
    for (size_t i = tuple.begin; i < tuple.end && !Full(*out); ++i) {
      if (i > tuple.begin) absl::StrAppend(out, ", ");
      PutShape({i, i + 1}, layouts, depth + 1, out);
    }
    absl::StrAppend(out, ")");
  } else {
    const absl::string_view name = PrimitiveTypeName(element_type);
    absl::StrAppend(out, name.empty() ? absl::StrCat("type", element_type) : std::string(name));
    absl::StrAppend(out, "[");
    const FieldSchema& field = *schema.Find(kDimensions);
    ElementType type;
    ElementTypeOf(HloMessage::kShape, field, &type);
    ListReader reader(encoder_, dimensions, field, type);
    size_t place = 0;
    for (uint64_t size; !Full(*out) && reader.Next(&size); ++place) {
      const bool bounded = place < dynamic.size() && dynamic[place] != 0;
      absl::StrAppend(out, place == 0 ? "" : ",", bounded ? "<=" : "", static_cast<int64_t>(size));
    }
    absl::StrAppend(out, "]");
    if (layouts == Layouts::kShow && layout.begin != layout.end) PutLayout(layout, out);
  }
  encoder_.Release(fields);
}

void HloText::PutLayout(Fields layout, std::string* out) {
  constexpr uint32_t kMinorToMajor = 1, kTiles = 6, kElementSize = 7, kMemorySpace = 8;
  const MessageSchema& schema = SchemaOf(HloMessage::kLayout);
  Fields fields;
  if (!encoder_.ReadMerged(schema, layout, &fields)) return;
  std::string order, more;
  for (size_t i = fields.begin; i < fields.end;) {
    const Fields group = {i, encoder_.GroupEnd(i, fields.end)};
    const WireField last = encoder_.At(group.end - 1);
    i = group.end;
    if (!schema.Fits(last.number, last.type)) continue;
    if (last.number == kMinorToMajor) {
      order = Numbers(HloMessage::kLayout, group);
      order = order.substr(1, order.size() - 2);
    } else if (last.number == kTiles) {
      absl::StrAppend(&more, "T");
      for (size_t k = group.begin; k < group.end && !Full(more); ++k) {
        Fields tile;
        if (!encoder_.Read(SchemaOf(HloMessage::kTile), encoder_.At(k).bytes, &tile)) return;
        const std::string sizes =
            tile.begin == tile.end
                ? "[]"
                : Numbers(HloMessage::kTile, {tile.begin, encoder_.GroupEnd(tile.begin, tile.end)});
        absl::StrAppend(&more, "(", sizes.substr(1, sizes.size() - 2), ")");
        encoder_.Release(tile);
      }
    } else if (last.number == kElementSize && last.value != 0) {
      absl::StrAppend(&more, "E(", static_cast<int64_t>(last.value), ")");
    } else if (last.number == kMemorySpace && last.value != 0) {
      absl::StrAppend(&more, "S(", static_cast<int64_t>(last.value), ")");
    }
  }
  encoder_.Release(fields);
  if (!order.empty() || !more.empty()) {
    absl::StrAppend(out, "{", order, more.empty() ? "" : ":", more, "}");
  }
}

std::string HloText::Numbers(HloMessage message, Fields group) {
  const FieldSchema* const field = SchemaOf(message).Find(encoder_.At(group.begin).number);
  ElementType type;
  if (field == nullptr || !ElementTypeOf(message, *field, &type)) return "[]";
  return ListText(ListReader(encoder_, group, *field, type), type);
}

void HloText::PutValue(HloMessage message, Fields group, int depth, std::string* out) {
  const MessageSchema& schema = SchemaOf(message);
  const WireField last = encoder_.At(group.end - 1);
  const FieldSchema* const field = schema.Find(last.number);
  for (size_t i = group.begin; i < group.end; ++i) {
    if (field == nullptr || !schema.Fits(last.number, encoder_.At(i).type)) {
      return PutUnknown(group, out);
    }
  }
  if (depth > kDeepest || Full(*out)) {
    absl::StrAppend(out, "\u2026");
    return;
  }
  if (field->type == FieldType::kMessage) {
    if (field->message == HloMessage::kCount) {
      absl::StrAppend(out, "present");
    } else if (field->treatment == Treatment::kMap) {
      PutMap(group, out);
    } else if (field->presence != Presence::kRepeated) {
      PutMessage(field->message, group, depth, out);
    } else {
      absl::StrAppend(out, "[");
      for (size_t i = group.begin; i < group.end && !Full(*out); ++i) {
        if (i > group.begin) absl::StrAppend(out, ", ");
        PutMessage(field->message, {i, i + 1}, depth, out);
      }
      absl::StrAppend(out, "]");
    }
    return;
  }
  ElementType type;
  if (field->type == FieldType::kEnum && field->presence == Presence::kRepeated) {
    PutEnumerators(message, *field, group, out);
  } else if (ElementTypeOf(message, *field, &type)) {
    absl::StrAppend(out, ListText(ListReader(encoder_, group, *field, type), type));
  } else if (field->type == FieldType::kString || field->type == FieldType::kBytes) {
    absl::StrAppend(out, Quoted(last.bytes));
  } else if (IsVarint(field->type)) {
    const uint64_t value = ReadAs(field->type, last.value);
    const absl::string_view name = field->type == FieldType::kEnum
                                       ? EnumName(message, last.number, static_cast<int64_t>(value))
                                       : "";
    type.kind = field->type == FieldType::kBool ? ElementType::Kind::kBool
                : field->type == FieldType::kUint32 || field->type == FieldType::kUint64
                    ? ElementType::Kind::kUnsigned
                    : ElementType::Kind::kSigned;
    absl::StrAppend(out, name.empty() ? ElementText(type, value) : std::string(name));
  } else if (field->type == FieldType::kFloat) {
    absl::StrAppend(out, ElementText({ElementType::Kind::kFloat, 4}, LoadFixed32(last.bytes)));
  } else {
    absl::StrAppend(out, ElementText({ElementType::Kind::kFloat, 8}, LoadFixed64(last.bytes)));
  }
}

void HloText::PutEnumerators(HloMessage message, const FieldSchema& field, Fields group,
                             std::string* out) {
  ElementType type;
  ElementTypeOf(message, field, &type);
  ListReader reader(encoder_, group, field, type);
  absl::StrAppend(out, "[");
  bool first = true;
  for (uint64_t value; !Full(*out) && reader.Next(&value); first = false) {
    const absl::string_view name = EnumName(message, field.number, static_cast<int64_t>(value));
    absl::StrAppend(out, first ? "" : ",",
                    name.empty() ? ElementText(type, value) : std::string(name));
  }
  absl::StrAppend(out, "]");
}

void HloText::PutUnknown(Fields group, std::string* out) {
  const WireField& last = encoder_.At(group.end - 1);
  switch (last.type) {
    case WireType::kVarint:
      absl::StrAppend(out, last.value);
      break;
    case WireType::kFixed32:
      absl::StrAppend(out, absl::StrFormat("0x%08x", LoadFixed32(last.bytes)));
      break;
    case WireType::kFixed64:
      absl::StrAppend(out, absl::StrFormat("0x%016x", LoadFixed64(last.bytes)));
      break;
    case WireType::kBytes:
      absl::StrAppend(out, Quoted(last.bytes));
      break;
  }
  if (group.end - group.begin > 1) {
    absl::StrAppend(out, " (the last of ", group.end - group.begin, ")");
  }
}

void HloText::PutMessage(HloMessage type, Fields pieces, int depth, std::string* out) {
  if (type == HloMessage::kShape) return PutShape(pieces, Layouts::kShow, depth, out);
  const MessageSchema& schema = SchemaOf(type);
  Fields fields;
  if (!encoder_.ReadMerged(schema, pieces, &fields)) return;
  absl::StrAppend(out, "{");
  for (size_t i = fields.begin; i < fields.end && !Full(*out);) {
    const Fields group = {i, encoder_.GroupEnd(i, fields.end)};
    const uint32_t number = encoder_.At(i).number;
    const FieldSchema* const field = schema.Find(number);
    absl::StrAppend(out, i == fields.begin ? "" : ", ",
                    field == nullptr ? absl::StrCat("field ", number) : field->name, ": ");
    PutValue(type, group, depth + 1, out);
    i = group.end;
  }
  absl::StrAppend(out, "}");
  encoder_.Release(fields);
}

void HloText::PutMap(Fields group, std::string* out) {
  absl::StrAppend(out, "{");
  for (size_t i = group.begin; i < group.end && !Full(*out); ++i) {
    absl::string_view key, value;
    WireReader reader(encoder_.At(i).bytes);
    for (WireField part; reader.Next(&part);) {
      if (part.type == WireType::kBytes) (part.number == 1 ? key : value) = part.bytes;
    }
    absl::StrAppend(out, i == group.begin ? "" : ", ", Printable(key, kLongestString), "=",
                    Quoted(value));
  }
  absl::StrAppend(out, "}");
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", Printable(text, kLongestString), "\"");
}

std::string TextChange(absl::string_view before, absl::string_view after) {
  constexpr size_t kContext = 8;
  if (before.size() <= kLongestString && after.size() <= kLongestString) {
    return absl::StrCat(Quoted(before), kBecomes, Quoted(after));
  }
  const auto [b, a] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  const size_t offset = static_cast<size_t>(b - before.begin());
  const size_t from = offset < kContext ? 0 : offset - kContext;
  return absl::StrCat(before.size() == after.size()
                          ? absl::StrCat(before.size(), " bytes")
                          : absl::StrCat(before.size(), kBecomes, after.size(), " bytes"),
                      ", first difference at ", offset, ": ", Quoted(before.substr(from)), kBecomes,
                      Quoted(after.substr(from)));
}

}  // namespace neffcache
