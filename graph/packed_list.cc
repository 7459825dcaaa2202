#include "graph/packed_list.h"

#include <bit>

#include "graph/wire.h"

namespace neffcache {
namespace {

bool HasHighBit(absl::string_view bytes) {
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  for (; end - p >= 8; p += 8) {
    if (LoadFixed64(absl::string_view(p, 8)) & 0x8080808080808080u) return true;
  }
  for (; p < end; ++p) {
    if (*p & 0x80) return true;
  }
  return false;
}

// True when a varint of `length` > 1 bytes is the shortest for a value that the type can have.
bool IsCanonicalVarint(FieldType type, const uint8_t* bytes, size_t length) {
  const uint8_t last = bytes[length - 1];
  if (last == 0) return false;  // Not the shortest.
  switch (type) {
    case FieldType::kBool:
      return false;
    case FieldType::kUint32:
      return length < 5 || (length == 5 && last <= 0x0f);
    case FieldType::kInt32:
    case FieldType::kEnum:
      if (length < 5 || (length == 5 && last <= 0x07)) return true;
      // Negative: the 33 high bits are set.
      return length == 10 && last == 1 && bytes[4] >= 0xf8 && bytes[5] == 0xff &&
             bytes[6] == 0xff && bytes[7] == 0xff && bytes[8] == 0xff;
    default:
      return length < 10 || (length == 10 && last == 1);
  }
}

}  // namespace

bool IsCanonicalPacked(FieldType type, absl::string_view bytes) {
  if (type != FieldType::kBool && !HasHighBit(bytes)) return true;
  const uint8_t* p = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* const end = p + bytes.size();
  const uint8_t most = type == FieldType::kBool ? 1 : 0x7f;
  while (p < end) {
    const uint8_t* last = p;
    while (last < end && *last >= 0x80) ++last;
    if (last == end) return false;  // Cut short.
    if (last == p ? *p > most : !IsCanonicalVarint(type, p, static_cast<size_t>(last - p) + 1)) {
      return false;
    }
    p = last + 1;
  }
  return true;
}

uint64_t CountVarints(absl::string_view bytes) {
  constexpr uint64_t kHighBits = 0x8080808080808080u;
  uint64_t count = 0;
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  for (; end - p >= 8; p += 8) {
    count +=
        static_cast<uint64_t>(std::popcount(~LoadFixed64(absl::string_view(p, 8)) & kHighBits));
  }
  for (; p < end; ++p) count += (*p & 0x80) == 0;
  return count;
}

}  // namespace neffcache
