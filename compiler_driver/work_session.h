#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "compiler_driver/lease_table.h"

namespace neffcache {

// What a worker tells the daemon about itself.
struct WorkOffer {
  struct Toolchain {
    std::string name;
    std::string version;
  };
  std::string name;
  std::vector<Toolchain> toolchains;
  uint32_t slots = 1;
  uint64_t memory_bytes = 0;
  bool embedded = false;
};

// One Work stream, from hello to its end: puts the leases that come into `leases`, takes the
// revoked ones out, sends heartbeats with their progress at the interval that the daemon names.
//
// The stream ends when the daemon ends it, when it breaks, or after Leave() or the daemon's drain:
// the daemon is told to send nothing more, and the stream is closed when the last lease has been
// reported. Leases that are left in the table afterwards are void.
//
// Run() is called once. The other functions are thread-safe and return at once.
class WorkSession {
 public:
  struct End {
    absl::Status status;    // OK when the stream was closed in good order.
    bool welcomed = false;  // The daemon had accepted the worker.
    bool left = false;      // The worker is to go: Leave(), idleness, the drain of an embedded one.
  };

  // `leases` must outlive this. `idle_exit`: leave after having had no lease for so long.
  WorkSession(std::string address, WorkOffer offer, absl::Duration idle_exit, LeaseTable& leases);
  ~WorkSession();

  End Run() ABSL_LOCKS_EXCLUDED(mu_);

  void Leave() ABSL_LOCKS_EXCLUDED(mu_);
  // A lease has ended: when leaving, the stream may now be closed.
  void LeaseEnded() ABSL_LOCKS_EXCLUDED(mu_);
  // Ends the stream now. The leases are void.
  void Break();

 private:
  struct Stream;

  void HandleMessages() ABSL_LOCKS_EXCLUDED(mu_);
  void HandleDrain(absl::string_view reason) ABSL_LOCKS_EXCLUDED(mu_);
  void WriteMessages() ABSL_LOCKS_EXCLUDED(mu_);
  bool WriteHello();
  bool WriteHeartbeat();
  void CloseAndAwaitEnd() ABSL_LOCKS_EXCLUDED(mu_);
  void Wake() ABSL_LOCKS_EXCLUDED(mu_);

  const std::string address_;
  const WorkOffer offer_;
  const absl::Duration idle_exit_;
  LeaseTable& leases_;
  const std::unique_ptr<Stream> stream_;

  absl::Mutex mu_;
  bool wake_ ABSL_GUARDED_BY(mu_) = false;   // Something below has changed, or a lease has ended.
  bool leave_ ABSL_GUARDED_BY(mu_) = false;  // Close in good order; the worker goes.
  bool drain_ ABSL_GUARDED_BY(mu_) = false;  // Close in good order; the worker comes back.
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // Nothing more will be read.
  absl::Time welcomed_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  absl::Duration heartbeat_interval_ ABSL_GUARDED_BY(mu_) = absl::InfiniteDuration();
};

}  // namespace neffcache
