#pragma once

#include <cstddef>
#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

namespace neffcache {

// Threads for what must not run on gRPC's: reads, hashing, commits. gRPC has at most 16 threads for
// all reactors, and one that blocks on a disk is lost to every other call.
//
// A fixed number of threads takes tasks in the order in which they came. The queue has no limit of
// its own: every call has a bounded number of tasks, and calls are limited.
//
// Thread-safe. The destructor runs what is queued, and what that queues, then joins.
class Executor {
 public:
  using Task = absl::AnyInvocable<void()>;

  explicit Executor(size_t threads);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void Run(Task task);

 private:
  void Work();

  absl::Mutex mu_;
  absl::CondVar wake_;
  std::deque<Task> queue_ ABSL_GUARDED_BY(mu_);
  size_t busy_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::jthread> threads_;  // Last: joined before the queue goes.
};

}  // namespace neffcache
