#include "server/rpc/strand.h"

#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace neffcache {

struct Strand::State {
  explicit State(Executor& pool) : executor(pool) {}

  Executor& executor;
  absl::Mutex mu;
  std::deque<Executor::Task> queue ABSL_GUARDED_BY(mu);
  bool scheduled ABSL_GUARDED_BY(mu) = false;
};

Strand::Strand(Executor& executor) : state_(std::make_shared<State>(executor)) {}

void Strand::Post(Executor::Task task) {
  {
    absl::MutexLock lock(&state_->mu);
    state_->queue.push_back(std::move(task));
    if (std::exchange(state_->scheduled, true)) return;
  }
  state_->executor.Run([state = state_] { Drain(state); });
}

void Strand::Drain(const std::shared_ptr<State>& state) {
  Executor::Task task;
  {
    absl::MutexLock lock(&state->mu);
    task = std::move(state->queue.front());
    state->queue.pop_front();
  }
  task();
  task = nullptr;
  {
    absl::MutexLock lock(&state->mu);
    if (state->queue.empty()) {
      state->scheduled = false;
      return;
    }
  }
  // One task per turn: a busy call does not keep the thread from the others.
  state->executor.Run([state] { Drain(state); });
}

}  // namespace neffcache
