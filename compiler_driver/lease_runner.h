#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compiler_driver/compile_run.h"
#include "compiler_driver/offered_toolchain.h"
#include "compiler_driver/scratch.h"
#include "compiler_driver/work_lease.h"

namespace neffcache {

struct LeaseRunnerOptions {
  std::vector<std::string> pass_environment;  // Names besides the allow-list.
  uint64_t address_space_bytes = 0;           // RLIMIT_AS of each compiler process; 0: none.
  absl::Duration grace = absl::Seconds(5);    // From SIGTERM to SIGKILL of a cancelled compile.
};

// Does what a lease is for: fetches the graph into a private directory, compiles it, reports the
// result. Thread-safe; scratch and toolchains must outlive it.
class LeaseRunner {
 public:
  LeaseRunner(LeaseRunnerOptions options, const ScratchRoot& scratch,
              const std::vector<std::unique_ptr<OfferedToolchain>>& toolchains)
      : options_(std::move(options)), scratch_(scratch), toolchains_(toolchains) {}

  // Blocks until the lease has been reported, or is void. An error means that the stream should be
  // started anew: the daemon could not be told, or what the worker offers is no longer true.
  absl::Status Run(HeldLease& held) const;

 private:
  // Everything but the report. CANCELLED when the lease is void and there is nothing to report.
  absl::StatusOr<CompileOutcome> Compile(HeldLease& held, const ScratchDirectory& directory,
                                         OfferedToolchain& toolchain) const;
  absl::Status CheckFreeSpace(const WorkLease& lease) const;
  OfferedToolchain* Find(absl::string_view name) const;

  const LeaseRunnerOptions options_;
  const ScratchRoot& scratch_;
  const std::vector<std::unique_ptr<OfferedToolchain>>& toolchains_;
};

}  // namespace neffcache
