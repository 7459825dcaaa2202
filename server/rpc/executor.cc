#include "server/rpc/executor.h"

#include <utility>

namespace neffcache {

Executor::Executor(size_t threads) {
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

Executor::~Executor() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    wake_.SignalAll();
  }
  threads_.clear();
}

void Executor::Run(Task task) {
  absl::MutexLock lock(&mu_);
  queue_.push_back(std::move(task));
  wake_.Signal();
}

void Executor::Work() {
  for (;;) {
    Task task;
    {
      absl::MutexLock lock(&mu_);
      // A running task may still queue another, so nobody leaves before all are idle.
      while (queue_.empty() && !(stopping_ && busy_ == 0)) wake_.Wait(&mu_);
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
      ++busy_;
    }
    task();
    task = nullptr;  // What it captured goes before the thread counts as idle.
    absl::MutexLock lock(&mu_);
    --busy_;
    if (stopping_ && busy_ == 0) wake_.SignalAll();
  }
}

}  // namespace neffcache
