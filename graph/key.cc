#include "graph/key.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace neffcache {
namespace {

constexpr absl::string_view kSchemeTag = "neffcache-key-1";

// Types of the parts, so that a part is never taken for one of another type.
enum class Part : char {
  kScheme = 's',
  kTag = 't',
  kDigest = 'd',
  kToolchain = 'c',
  kVersion = 'v',
  kOption = 'o'
};

void Append(Sha256& hash, Part part, absl::string_view bytes) {
  char head[9] = {static_cast<char>(part)};
  for (int i = 0; i < 8; ++i) head[1 + i] = static_cast<char>(uint64_t{bytes.size()} >> (8 * i));
  hash.Update({head, sizeof(head)});
  hash.Update(bytes);
}

}  // namespace

std::string ToString(const Toolchain& toolchain) {
  return absl::StrCat(toolchain.name, " ", toolchain.version);
}

Key ComputeKey(const KeyMaterial& material) {
  Sha256 hash;
  Append(hash, Part::kScheme, kSchemeTag);
  Append(hash, Part::kTag, material.fingerprint.tag);
  Append(hash, Part::kDigest, material.fingerprint.digest.bytes());
  Append(hash, Part::kToolchain, material.toolchain.name);
  Append(hash, Part::kVersion, material.toolchain.version);
  for (const std::string& option : material.options) Append(hash, Part::kOption, option);
  return *Key::FromBytes(hash.Finish().bytes());
}

}  // namespace neffcache
