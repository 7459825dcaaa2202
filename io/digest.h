#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// 32 bytes of SHA-256, typed by what they name so that a key is never taken for an artifact.
//
// Written as 64 lower-case hex digits everywhere outside memory and the wire. A default-constructed
// value is all zeros and names nothing. A plain value: safe to copy between threads.
template <typename Tag>
class Sha256Name {
 public:
  static constexpr size_t kSize = 32;

  constexpr Sha256Name() = default;
  explicit constexpr Sha256Name(const std::array<uint8_t, kSize>& bytes) : bytes_(bytes) {}

  // INVALID_ARGUMENT unless `hex` is exactly 64 hex digits (either case).
  static absl::StatusOr<Sha256Name> FromHex(absl::string_view hex);
  // INVALID_ARGUMENT unless `bytes` is exactly 32 bytes long.
  static absl::StatusOr<Sha256Name> FromBytes(absl::string_view bytes);

  std::string Hex() const;
  // The 32 bytes as a view that lives as long as this object.
  absl::string_view bytes() const {
    return absl::string_view(reinterpret_cast<const char*>(bytes_.data()), kSize);
  }
  bool empty() const { return *this == Sha256Name(); }

  friend auto operator<=>(const Sha256Name&, const Sha256Name&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Sha256Name& name) {
    return H::combine(std::move(h), name.bytes_);
  }

 private:
  std::array<uint8_t, kSize> bytes_ = {};
};

// Names bytes: an artifact, a log, a graph as it was sent, a canonical form.
using Digest = Sha256Name<struct DigestTag>;

// Hashes a stream of bytes with SHA-256 (OpenSSL). Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(absl::string_view bytes);
  // Returns the digest of all that was given and starts anew.
  Digest Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Digest Sha256Of(absl::string_view bytes);

}  // namespace neffcache
