#include "tests/bench/peak_memory.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "absl/time/time.h"

namespace neffcache::bench {
namespace {

uint64_t AnonymousBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssAnon:", 0) == 0) return std::stoull(line.substr(8)) << 10;
  }
  return 0;
}

}  // namespace

PeakMemory::PeakMemory() {
  malloc_trim(0);  // What earlier work left behind would hide what is allocated now.
  before_ = AnonymousBytes();
  thread_ = std::thread([this] { Watch(); });
}

PeakMemory::~PeakMemory() {
  Stop();
}

void PeakMemory::Watch() {
  absl::MutexLock lock(&mu_);
  do {
    peak_ = std::max(peak_, AnonymousBytes());
  } while (!mu_.AwaitWithTimeout(absl::Condition(&stopped_), absl::Milliseconds(1)));
}

uint64_t PeakMemory::Stop() {
  if (thread_.joinable()) {
    {
      absl::MutexLock lock(&mu_);
      stopped_ = true;
    }
    thread_.join();
  }
  absl::MutexLock lock(&mu_);
  return peak_ > before_ ? peak_ - before_ : 0;
}

}  // namespace neffcache::bench
