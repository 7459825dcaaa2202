#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler_driver/compile_run.h"
#include "compiler_driver/work_lease.h"

namespace grpc {
class Channel;
}

namespace neffcache {

// The bulk calls of one worker stream: graphs in, results out, on a connection of their own so that
// heartbeats do not queue behind a gigabyte. Thread-safe. `stop` cancels a call: CANCELLED.
class DaemonCalls {
 public:
  // `worker_id` is what the daemon's welcome gave; valid as long as that stream.
  DaemonCalls(const std::string& address, uint64_t worker_id);

  // Fetches the graph of a lease into the file `path`, decompressed, its size and digest checked.
  // NOT_FOUND: the lease is void. DATA_LOSS: what came is not the graph.
  absl::Status FetchGraph(const WorkLease& lease, const std::string& path,
                          const std::stop_token& stop);

  // Reports the end of a lease. True: the key holds this result now; false: an earlier one stays.
  // Tries again when the connection breaks. FAILED_PRECONDITION: the lease is void and the result
  // was discarded. Other errors as in worker.proto.
  absl::StatusOr<bool> Finish(const WorkLease& lease, const CompileOutcome& outcome,
                              const std::stop_token& stop);

 private:
  enum class Attempt { kFirst, kAgain };
  absl::StatusOr<bool> FinishOnce(const WorkLease& lease, const CompileOutcome& outcome,
                                  const std::stop_token& stop, Attempt attempt);

  const std::shared_ptr<grpc::Channel> channel_;
  const uint64_t worker_id_;
};

}  // namespace neffcache
