#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace neffcache {

struct EmbeddedWorkersOptions {
  std::string program;  // neffcache-worker.
  uint32_t count = 1;
  std::string daemon;  // Address to dial.
  std::vector<std::string> toolchains;
  uint64_t memory_bytes = 0;  // For each; 0: the worker's own default.
  std::string scratch;        // Each worker has a directory of its own in it.
  // A worker that ends is started again after a pause that doubles up to the longest, and is
  // shortest again once one has lived for `settled`.
  absl::Duration first_pause = absl::Milliseconds(200);
  absl::Duration longest_pause = absl::Seconds(30);
  absl::Duration settled = absl::Seconds(30);
};

// The daemon's own compile workers: child processes that speak the same protocol as remote ones,
// kept running. Their output goes to ours. They die with the daemon, even a killed one: each is
// told our process id and asks the kernel for it.
//
// Thread-safe. The destructor stops them with no grace.
class EmbeddedWorkers {
 public:
  // The workers are started in the background; one that cannot be is tried again like one that
  // ended. NOT_FOUND: `program` is not there.
  static absl::StatusOr<std::unique_ptr<EmbeddedWorkers>> Start(EmbeddedWorkersOptions options);
  ~EmbeddedWorkers();

  // From here on one that ends is not started again.
  void Retire();

  // SIGTERM now, SIGKILL for those that are left after `grace`. Returns when all have ended.
  // Idempotent.
  void Stop(absl::Duration grace);

  // Process ids of those that run, for tests and logs.
  std::vector<int> pids() const;

 private:
  class Keeper;
  explicit EmbeddedWorkers(std::unique_ptr<Keeper> keeper);
  const std::unique_ptr<Keeper> keeper_;
};

}  // namespace neffcache
