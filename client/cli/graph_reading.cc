#include "client/cli/graph_reading.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace neffcache::cli {
namespace {

// Each holds a graph in memory.
constexpr size_t kMaxThreads = 8;

class GraphReading {
 public:
  GraphReading(const std::vector<std::string>& paths, const CompileSpec& common)
      : paths_(paths),
        common_(common),
        results_(paths.size(), absl::UnknownError("not read yet")) {}

  void Work() {
    for (;;) {
      size_t index;
      {
        absl::MutexLock lock(&mutex_);
        if (next_ == paths_.size()) return;
        index = next_++;
      }
      CompileSpec spec = common_;
      spec.graph_path = paths_[index];
      absl::StatusOr<IdentifiedSpec> result = IdentifySpec(spec);
      absl::MutexLock lock(&mutex_);
      results_[index] = std::move(result);
      ++done_;
    }
  }

  // Waits for at most `period`. True when all are done.
  bool AwaitDone(absl::Duration period, size_t& done) {
    absl::MutexLock lock(&mutex_);
    const bool all = mutex_.AwaitWithTimeout(absl::Condition(this, &GraphReading::AllDone), period);
    done = done_;
    return all;
  }

  std::vector<absl::StatusOr<IdentifiedSpec>> TakeResults() {
    absl::MutexLock lock(&mutex_);
    return std::move(results_);
  }

 private:
  bool AllDone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return done_ == paths_.size(); }

  const std::vector<std::string>& paths_;
  const CompileSpec& common_;
  absl::Mutex mutex_;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<absl::StatusOr<IdentifiedSpec>> results_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::vector<absl::StatusOr<IdentifiedSpec>> IdentifyAll(const std::vector<std::string>& paths,
                                                        const CompileSpec& common,
                                                        absl::Duration period,
                                                        absl::FunctionRef<void(size_t)> on_tick) {
  GraphReading reading(paths, common);
  const size_t cores = std::max<size_t>(std::thread::hardware_concurrency(), 1);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < std::min({paths.size(), cores, kMaxThreads}); ++i) {
    threads.emplace_back([&reading] { reading.Work(); });
  }
  size_t done = 0;
  while (!reading.AwaitDone(period, done)) on_tick(done);
  return reading.TakeResults();
}

}  // namespace neffcache::cli
