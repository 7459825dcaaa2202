#pragma once

// The protobuf wire format, read from bytes that nobody has vouched for.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace neffcache {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field as it stands on the wire.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;       // Of a varint.
  absl::string_view bytes;  // Payload of all other types; points into the message.
};

// Reads a varint of at most ten bytes and moves `*p` behind it; false when there is none before
// `end`. Bits beyond the 64th are cut off, as every protobuf reader does.
inline bool ReadVarint(const char** p, const char* end, uint64_t* value) {
  const char* q = *p;
  if (q < end && static_cast<uint8_t>(*q) < 0x80) {  // One byte, as most are.
    *value = static_cast<uint8_t>(*q);
    *p = q + 1;
    return true;
  }
  if (end - q >= 2 && static_cast<uint8_t>(q[1]) < 0x80) {  // Two, as large numbers' tags have.
    *value = (static_cast<uint8_t>(q[0]) & 0x7fu) | uint64_t{static_cast<uint8_t>(q[1])} << 7;
    *p = q + 2;
    return true;
  }
  uint64_t result = 0;
  for (int shift = 0; shift < 70 && q < end; shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(*q++);
    if (shift < 64) result |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      *p = q;
      *value = result;
      return true;
    }
  }
  return false;
}

// Walks the fields of one message. Groups, field 0, numbers beyond 29 bits and lengths that run
// past the end stop it with damaged() set. Not thread-safe; the bytes must outlive it.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // False at the end and at damage.
  bool Next(WireField* field) {
    if (next_ == end_) return false;
    uint64_t tag;
    if (!ReadVarint(&next_, end_, &tag) || tag > UINT32_MAX || tag < 8) return Damage();
    field->number = static_cast<uint32_t>(tag >> 3);
    field->type = static_cast<WireType>(tag & 7);
    uint64_t length;
    switch (tag & 7) {
      case 0:
        return ReadVarint(&next_, end_, &field->value) || Damage();
      case 1:
        length = 8;
        break;
      case 2:
        if (!ReadVarint(&next_, end_, &length)) return Damage();
        break;
      case 5:
        length = 4;
        break;
      default:
        return Damage();
    }
    if (length > static_cast<uint64_t>(end_ - next_)) return Damage();
    field->bytes = absl::string_view(next_, length);
    next_ += length;
    return true;
  }

  bool damaged() const { return damaged_; }

 private:
  bool Damage() {
    damaged_ = true;
    next_ = end_;
    return false;
  }

  const char* next_;
  const char* end_;
  bool damaged_ = false;
};

// Calls `take` with each varint of a packed list; false when it is cut short.
template <typename Take>
bool ForEachPacked(absl::string_view bytes, Take take) {
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  while (p < end) {
    uint64_t value;
    if (!ReadVarint(&p, end, &value)) return false;
    take(value);
  }
  return true;
}

// The bytes of a fixed field as a number.
inline uint32_t LoadFixed32(absl::string_view bytes) {
  uint32_t value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}
inline uint64_t LoadFixed64(absl::string_view bytes) {
  uint64_t value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

}  // namespace neffcache
