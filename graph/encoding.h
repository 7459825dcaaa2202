#pragma once

// The bytes of a canonical description: a prefix-free, typed encoding (docs/formats/keys.md).

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/string_view.h"
#include "io/digest.h"

namespace neffcache {

// Strings and packed lists up to this length are written out; longer ones as their digest.
inline constexpr size_t kInlineLimit = 4096;

// How a string is written: as it is, or as its length and digest.
inline constexpr char kInline = 0;
inline constexpr char kHashed = 1;

// Kinds of what follows a field's number. Capitals are lists and carry a count.
enum class Kind : char {
  kVarint = 'v',
  kVarintList = 'V',
  kFixed32 = 'f',
  kFixed32List = 'F',
  kFixed64 = 'd',
  kFixed64List = 'D',
  kString = 's',
  kStringList = 'S',
  kMessage = 'm',
  kMessageList = 'M',
  kSet = 'X',          // Messages, sorted.
  kMap = 'P',          // Pairs of strings, sorted.
  kResolved = 'p',     // The string that a payload id stood for.
  kUnknownList = 'U',  // Wire types and values, as they came.
  kPosition = 'r',     // Where in the numbering the thing is that an id named.
  kPositionList = 'R',
  kDigestList = 'H',    // In place of positions, while there are none.
  kNativeKernel = 'k',  // The canonical form of an NKI configuration.
};

// A growing buffer with the few writes that descriptions are made of. Not thread-safe.
class Encoding {
 public:
  void PutByte(char byte) {
    Reserve(1);
    buffer_[size_++] = byte;
  }

  // Minimal LEB128.
  void PutVarint(uint64_t value) {
    Reserve(10);
    char* p = buffer_.data() + size_;
    while (value >= 0x80) {
      *p++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *p++ = static_cast<char>(value);
    size_ = static_cast<size_t>(p - buffer_.data());
  }

  void PutRaw(absl::string_view bytes) {
    if (bytes.empty()) return;
    Reserve(bytes.size());
    std::memcpy(buffer_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }

  void PutHeader(uint32_t number, Kind kind) {
    PutVarint(number);
    PutByte(static_cast<char>(kind));
  }

  // Length, then the bytes.
  void PutBlob(absl::string_view bytes) {
    PutVarint(bytes.size());
    PutRaw(bytes);
  }

  size_t size() const { return size_; }
  absl::string_view view() const { return absl::string_view(buffer_.data(), size_); }
  absl::string_view view(size_t begin, size_t end) const {
    return absl::string_view(buffer_.data() + begin, end - begin);
  }
  void Truncate(size_t size) { size_ = size; }

  // Moves everything into `hash` once there is enough of it to be worth a call.
  void FlushInto(Sha256& hash, size_t at_least = 16 << 10) {
    if (size_ < at_least) return;
    hash.Update(view());
    size_ = 0;
  }

 private:
  void Reserve(size_t more) {
    if (buffer_.size() - size_ < more) buffer_.resize(2 * buffer_.size() + more + 1024);
  }

  std::vector<char> buffer_;
  size_t size_ = 0;
};

}  // namespace neffcache
