#include "compiler_driver/offered_toolchain.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"

namespace neffcache {

absl::StatusOr<std::unique_ptr<OfferedToolchain>> OfferedToolchain::Probe(
    std::unique_ptr<CompilerToolchain> compiler, std::string directory,
    const std::stop_token& stop) {
  // The stamp first: an upgrade in between is then seen as a change, and not missed.
  std::string stamp = compiler->InstallationStamp();
  ASSIGN_OR_RETURN(std::string version, compiler->Probe(directory, stop));
  return std::unique_ptr<OfferedToolchain>(new OfferedToolchain(
      std::move(compiler), std::move(directory), std::move(version), std::move(stamp)));
}

std::string OfferedToolchain::version() const {
  absl::MutexLock lock(&mu_);
  return version_;
}

absl::Status OfferedToolchain::StillAsOffered(absl::string_view version,
                                              const std::stop_token& stop) {
  std::string stamp = compiler_->InstallationStamp();
  bool changed;
  {
    absl::MutexLock lock(&mu_);
    changed = stamp != stamp_ || stamp.empty();
  }
  if (changed) {
    // Several threads may ask at once; they get the same answer.
    absl::StatusOr<std::string> now = compiler_->Probe(directory_, stop);
    if (!now.ok()) return absl::UnavailableError(now.status().message());
    absl::MutexLock lock(&mu_);
    version_ = *std::move(now);
    stamp_ = std::move(stamp);
  }
  absl::MutexLock lock(&mu_);
  if (version_ == version) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(compiler_->name(), " here is now ", version_, " and no longer ", version));
}

}  // namespace neffcache
