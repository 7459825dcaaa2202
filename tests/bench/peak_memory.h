#pragma once

#include <cstdint>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace neffcache::bench {

// The most anonymous memory (RssAnon of /proc/self/status) this process had, above what it had at
// the start, looked at every millisecond. Pages of mapped files do not count: the kernel takes them
// back when it likes.
class PeakMemory {
 public:
  PeakMemory();
  ~PeakMemory();

  // Bytes; ends the watch.
  uint64_t Stop();

 private:
  void Watch();

  absl::Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t peak_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t before_ = 0;
  std::thread thread_;
};

}  // namespace neffcache::bench
