#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "compiler_driver/toolchain.h"

namespace neffcache {

// A toolchain with the version under which it is offered to the daemon.
//
// The version is part of the key, so an artifact made by any other version would be a wrong one.
// Compilers get upgraded under a running worker: StillAsOffered() is asked before and after each
// compile. It costs a few stat() calls; only when the installation changed, or files do not tell
// whether it did, it runs the compiler to ask. Thread-safe.
class OfferedToolchain {
 public:
  // Probes. `directory` is where the compiler runs for that, now and later.
  static absl::StatusOr<std::unique_ptr<OfferedToolchain>> Probe(
      std::unique_ptr<CompilerToolchain> compiler, std::string directory,
      const std::stop_token& stop);

  const CompilerToolchain& compiler() const { return *compiler_; }
  absl::string_view name() const { return compiler_->name(); }
  std::string version() const ABSL_LOCKS_EXCLUDED(mu_);

  // OK when the compiler installed now is `version`. FAILED_PRECONDITION when it is another one,
  // which is then offered from here on; UNAVAILABLE when it cannot say.
  absl::Status StillAsOffered(absl::string_view version, const std::stop_token& stop)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  OfferedToolchain(std::unique_ptr<CompilerToolchain> compiler, std::string directory,
                   std::string version, std::string stamp)
      : compiler_(std::move(compiler)),
        directory_(std::move(directory)),
        version_(std::move(version)),
        stamp_(std::move(stamp)) {}

  const std::unique_ptr<CompilerToolchain> compiler_;
  const std::string directory_;
  mutable absl::Mutex mu_;
  std::string version_ ABSL_GUARDED_BY(mu_);
  std::string stamp_ ABSL_GUARDED_BY(mu_);
};

}  // namespace neffcache
