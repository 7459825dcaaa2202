#include "graph/explain/list_elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/explain/printable.h"
#include "graph/wire.h"

namespace neffcache {
namespace {

using ElementKind = ElementType::Kind;

constexpr size_t kLongestList = 48;  // Characters that are shown of one.

float HalfToFloat(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int mantissa = bits & 0x3ff;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  }
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

template <typename Float>
std::string FloatText(Float value, uint64_t bits) {
  if (std::isnan(value)) return absl::StrFormat("nan(0x%x)", bits);
  return absl::StrFormat(sizeof(Float) == 4 ? "%.9g" : "%.17g", value);
}

// The shortest text that reads back as the same number.
std::string Shortest(float value, uint64_t bits) {
  const std::string text = absl::StrFormat("%g", value);
  float parsed = 0;
  return absl::SimpleAtof(text, &parsed) && parsed == value ? text : FloatText(value, bits);
}
std::string Shortest(double value, uint64_t bits) {
  const std::string text = absl::StrFormat("%g", value);
  double parsed = 0;
  return absl::SimpleAtod(text, &parsed) && parsed == value ? text : FloatText(value, bits);
}

bool LiteralType(uint32_t number, ElementType* type) {
  switch (number) {
    case 3:  // u8s
      *type = {ElementKind::kUnsigned, 1};
      return true;
    case 11:  // f16s
      *type = {ElementKind::kHalf, 2};
      return true;
    case 13:  // bf16s
      *type = {ElementKind::kBfloat, 2};
      return true;
    case 15:  // s8s
      *type = {ElementKind::kSigned, 1};
      return true;
    case 16:  // u16s
      *type = {ElementKind::kUnsigned, 2};
      return true;
    case 17:  // s16s
      *type = {ElementKind::kSigned, 2};
      return true;
    default:  // Floats of a byte or less, packed nibbles.
      *type = {ElementKind::kHex, 1};
      return true;
  }
}

bool ListType(HloMessage message, const FieldSchema& field, ElementType* type) {
  if (field.presence != Presence::kRepeated) return false;
  switch (field.type) {
    case FieldType::kBool:
      *type = {ElementKind::kBool, 0};
      return true;
    case FieldType::kInt32:
    case FieldType::kInt64:
    case FieldType::kEnum:
      *type = {ElementKind::kSigned, 0};
      return true;
    case FieldType::kUint32:
    case FieldType::kUint64:
      *type = {ElementKind::kUnsigned, 0};
      return true;
    case FieldType::kFloat:
      *type = {ElementKind::kFloat, 4,
               message == HloMessage::kLiteral && field.number == 12};  // c64s
      return true;
    case FieldType::kDouble:
      *type = {ElementKind::kFloat, 8,
               message == HloMessage::kLiteral && field.number == 18};  // c128s
      return true;
    default:
      return false;
  }
}

}  // namespace

bool ElementTypeOf(HloMessage message, const FieldSchema& field, ElementType* type) {
  const bool literal = message == HloMessage::kLiteral;
  const bool is_list = literal && field.type == FieldType::kBytes ? LiteralType(field.number, type)
                                                                  : ListType(message, field, type);
  type->bare = literal;
  return is_list;
}

bool ListReader::Next(uint64_t* bits) {
  while (chunk_.empty()) {
    if (next_ == end_) return false;
    const WireField& field = encoder_.At(next_++);
    // Of bytes that are no list on the wire the last occurrence stands.
    if (field_.presence != Presence::kRepeated && next_ != end_) continue;
    if (field.type == WireType::kVarint) {
      *bits = ReadAs(field_.type, field.value);
      return true;
    }
    chunk_ = field.bytes;
  }
  if (type_.width == 0) {
    const char* p = chunk_.data();
    uint64_t value = 0;
    if (!ReadVarint(&p, chunk_.data() + chunk_.size(), &value)) return false;
    chunk_.remove_prefix(static_cast<size_t>(p - chunk_.data()));
    *bits = ReadAs(field_.type, value);
    return true;
  }
  const size_t width = type_.width;
  uint64_t value = 0;
  for (size_t i = 0; i < width && i < chunk_.size(); ++i) {
    value |= uint64_t{static_cast<uint8_t>(chunk_[i])} << (8 * i);
  }
  chunk_.remove_prefix(std::min(width, chunk_.size()));
  if (type_.kind == ElementKind::kSigned && width < 8) {
    const int shift = static_cast<int>(64 - 8 * width);
    value = static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
  }
  *bits = value;
  return true;
}

std::string ElementText(const ElementType& type, uint64_t bits) {
  switch (type.kind) {
    case ElementKind::kBool:
      return bits != 0 ? "true" : "false";
    case ElementKind::kSigned:
      return absl::StrCat(static_cast<int64_t>(bits));
    case ElementKind::kUnsigned:
      return absl::StrCat(bits);
    case ElementKind::kFloat:
      return type.width == 4 ? Shortest(std::bit_cast<float>(static_cast<uint32_t>(bits)), bits)
                             : Shortest(std::bit_cast<double>(bits), bits);
    case ElementKind::kHalf:
      return Shortest(HalfToFloat(static_cast<uint16_t>(bits)), bits);
    case ElementKind::kBfloat:
      return Shortest(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16), bits);
    case ElementKind::kHex:
      break;
  }
  return absl::StrFormat("0x%02x", bits);
}

std::string ListText(ListReader reader, const ElementType& type) {
  std::string text = "[";
  uint64_t count = 0;
  bool cut = false;
  for (uint64_t bits; reader.Next(&bits); ++count) {
    if (cut) continue;
    if (text.size() > kLongestList) {
      absl::StrAppend(&text, ",\u2026");
      cut = true;
      continue;
    }
    absl::StrAppend(&text, count == 0 ? "" : ",", ElementText(type, bits));
  }
  if (cut) absl::StrAppend(&text, " ", count, " in all");
  return text + "]";
}

std::string ListChange(ListReader before, ListReader after, const ElementType& type) {
  const std::string before_text = ListText(before, type);
  const std::string after_text = ListText(after, type);
  uint64_t before_count = 0, after_count = 0, different = 0, first = 0;
  uint64_t first_before = 0, first_after = 0;
  for (;;) {
    uint64_t b = 0, a = 0;
    const bool has_before = before.Next(&b);
    const bool has_after = after.Next(&a);
    before_count += has_before;
    after_count += has_after;
    if (!has_before && !has_after) break;
    if (!has_before || !has_after || a == b) continue;
    if (different++ == 0) {
      first = before_count - 1;
      first_before = b;
      first_after = a;
    }
  }
  const uint64_t parts = type.complex ? 2 : 1;
  if (type.bare && before_count == 1 && after_count == 1) {
    return absl::StrCat(ElementText(type, first_before), kBecomes, ElementText(type, first_after));
  }
  if (before_text.size() <= kLongestList && after_text.size() <= kLongestList) {
    return absl::StrCat(before_text, kBecomes, after_text);
  }
  std::string text =
      before_count == after_count
          ? absl::StrCat(different, " of ", before_count / parts, " elements differ")
          : absl::StrCat(before_count / parts, kBecomes, after_count / parts, " elements");
  if (different > 0) {
    absl::StrAppend(&text, ", first at ", first / parts, ": ", ElementText(type, first_before),
                    kBecomes, ElementText(type, first_after));
  }
  return text;
}

}  // namespace neffcache
