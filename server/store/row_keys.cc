#include "server/store/row_keys.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

constexpr absl::string_view kNul("\0", 1);

}  // namespace

std::string FailuresFrom(absl::Time now) {
  // Times before 1970 never expire later than anything.
  const uint64_t ms = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixMillis(now)));
  std::string row;
  for (int shift = 56; shift >= 0; shift -= 8) row.push_back(static_cast<char>(ms >> shift));
  return row;
}

std::string FailureRow(absl::Time expiry, const Key& key) {
  return absl::StrCat(FailuresFrom(expiry), key.bytes());
}

std::string ReferenceRow(const Digest& artifact, const Key& key) {
  return absl::StrCat(artifact.bytes(), key.bytes());
}

std::string GraphRow(const Fingerprint& fingerprint) {
  return absl::StrCat(fingerprint.digest.bytes(), fingerprint.tag);
}

std::string BundlePrefix(absl::string_view bundle) {
  return absl::StrCat(bundle, kNul);
}

std::string BundleRow(absl::string_view bundle, const Key& key) {
  return absl::StrCat(bundle, kNul, key.bytes());
}

std::string BundlesOfRow(const Key& key, absl::string_view bundle) {
  return absl::StrCat(key.bytes(), bundle);
}

std::string NativeRow(absl::string_view toolchain_version, absl::string_view module) {
  return absl::StrCat(toolchain_version, kNul, module);
}

absl::StatusOr<Key> KeyAtEnd(absl::string_view row) {
  if (row.size() < Key::kSize) {
    return absl::DataLossError("the database has a row that is too short for its key");
  }
  return Key::FromBytes(row.substr(row.size() - Key::kSize));
}

absl::Status CheckName(absl::string_view what, absl::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes || absl::StrContains(name, kNul)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " has ", name.size(), " bytes; a name has 1 to ", kMaxNameBytes, " and no NUL"));
  }
  return absl::OkStatus();
}

}  // namespace neffcache
