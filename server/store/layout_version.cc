#include "server/store/layout_version.h"

#include "absl/strings/str_cat.h"

namespace neffcache {

absl::Status CheckLayoutVersion(uint32_t version, const std::string& directory) {
  if (version == kLayoutVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "opening store ", directory, ": its layout has version ", version,
      ", this neffcached knows version ", kLayoutVersion, "; start the neffcached that wrote it"));
}

}  // namespace neffcache
