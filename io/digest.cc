#include "io/digest.h"

#include <openssl/evp.h>

#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace neffcache {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// OpenSSL 3 looks an algorithm up by name on every use unless it is fetched once.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return algorithm;
}

}  // namespace

template <typename Tag>
absl::StatusOr<Sha256Name<Tag>> Sha256Name<Tag>::FromHex(absl::string_view hex) {
  if (hex.size() != 2 * kSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a SHA-256 has 64 hex digits, not ", hex.size()));
  }
  std::array<uint8_t, kSize> bytes;
  for (size_t i = 0; i < kSize; ++i) {
    const int high = HexValue(hex[2 * i]);
    const int low = HexValue(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return absl::InvalidArgumentError("a SHA-256 has hex digits only");
    }
    bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return Sha256Name(bytes);
}

template <typename Tag>
absl::StatusOr<Sha256Name<Tag>> Sha256Name<Tag>::FromBytes(absl::string_view bytes) {
  if (bytes.size() != kSize) {
    return absl::InvalidArgumentError(absl::StrCat("a SHA-256 has 32 bytes, not ", bytes.size()));
  }
  std::array<uint8_t, kSize> copy;
  std::memcpy(copy.data(), bytes.data(), kSize);
  return Sha256Name(copy);
}

template <typename Tag>
std::string Sha256Name<Tag>::Hex() const {
  return absl::BytesToHexString(bytes());
}

template class Sha256Name<struct DigestTag>;
template class Sha256Name<struct KeyTag>;  // Key, of graph/key.h.

struct Sha256::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(md); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  // Fails only when memory or the library itself is broken: nothing may be hashed wrongly then.
  if (EVP_DigestInit_ex(context_->md, Algorithm(), nullptr) != 1) std::abort();
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(absl::string_view bytes) {
  if (EVP_DigestUpdate(context_->md, bytes.data(), bytes.size()) != 1) std::abort();
}

Digest Sha256::Finish() {
  std::array<uint8_t, Digest::kSize> bytes;
  if (EVP_DigestFinal_ex(context_->md, bytes.data(), nullptr) != 1 ||
      EVP_DigestInit_ex(context_->md, nullptr, nullptr) != 1) {
    std::abort();
  }
  return Digest(bytes);
}

Digest Sha256Of(absl::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

}  // namespace neffcache
