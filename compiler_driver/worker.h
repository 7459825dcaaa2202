#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "compiler_driver/lease_runner.h"
#include "compiler_driver/lease_table.h"
#include "compiler_driver/offered_toolchain.h"
#include "compiler_driver/scratch.h"
#include "compiler_driver/work_session.h"

namespace neffcache {

struct WorkerOptions {
  std::string daemon;  // Address.
  std::string name;    // Unique among the daemon's workers.
  uint32_t slots = 1;
  uint64_t memory_bytes = 0;
  bool embedded = false;
  absl::Duration idle_exit = absl::InfiniteDuration();
  absl::Duration reconnect_after = absl::Milliseconds(200);  // Doubled with each failure, up to
  absl::Duration reconnect_limit = absl::Seconds(10);        // this.
  LeaseRunnerOptions compiles;
};

// Works for a daemon: takes leases, compiles, reports, until it leaves.
//
// When the stream breaks, the leases are void and their compiles are killed; when the daemon drains
// its workers, they are brought to their end. Either way it connects again, with back-off, for as
// long as it takes. It leaves when told to (Leave, having been idle for so long, the drain of the
// daemon that it is embedded in): no more leases, those it has are brought to their end.
//
// Run() blocks. Leave() and Kill() are thread-safe and return at once.
class Worker {
 public:
  Worker(WorkerOptions options, ScratchRoot scratch,
         std::vector<std::unique_ptr<OfferedToolchain>> toolchains);
  // Run() must have returned.
  ~Worker();

  // OK after having left. An error when the daemon does not want this worker, ever.
  absl::Status Run() ABSL_LOCKS_EXCLUDED(mu_);

  void Leave() ABSL_LOCKS_EXCLUDED(mu_);
  // Leaves without waiting: running compiles are killed.
  void Kill() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  WorkOffer Offer() const;
  std::shared_ptr<WorkSession> NewSession() ABSL_LOCKS_EXCLUDED(mu_);
  // The session that runs now; null between two.
  std::shared_ptr<WorkSession> CurrentSession() const ABSL_LOCKS_EXCLUDED(mu_);
  void RunSlot();

  const WorkerOptions options_;
  const ScratchRoot scratch_;
  const std::vector<std::unique_ptr<OfferedToolchain>> toolchains_;
  const LeaseRunner runner_;
  LeaseTable leases_;

  mutable absl::Mutex mu_;
  bool leaving_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<WorkSession> session_ ABSL_GUARDED_BY(mu_);

  // Last: they use all of the above. Compilers die with the thread that started them, so these live
  // as long as the worker.
  std::vector<std::jthread> slots_;
};

}  // namespace neffcache
