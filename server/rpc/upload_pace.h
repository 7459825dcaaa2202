#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace neffcache {

// Whether an upload that others wait for goes on fast enough: something comes at least every
// `grace`, and all of it within `grace` and four seconds for each MiB (compressed) that has come.
// So neither silence nor a drip of next to nothing keeps a key from its other clients, and no
// honest link is too slow. Time that the daemon takes to store a piece does not count.
//
// Not thread-safe; knows no clock.
class UploadPace {
 public:
  UploadPace(absl::Duration grace, absl::Time now);

  // `bytes` came at `came`, and were stored at `stored`.
  void Received(uint64_t bytes, absl::Time came, absl::Time stored);

  // When Check() fails, unless something comes.
  absl::Time Deadline() const;
  // DEADLINE_EXCEEDED: it is given up.
  absl::Status Check(absl::Time now) const;

 private:
  absl::Time ByRate() const;

  absl::Duration grace_;
  absl::Time started_;  // Later by what was the daemon's own time.
  absl::Time last_;
  uint64_t received_ = 0;
};

}  // namespace neffcache
