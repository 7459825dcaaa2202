#pragma once

#include <memory>

#include "server/rpc/executor.h"

namespace neffcache {

// Runs the tasks of one call on an executor one at a time and in order, so that the state of the
// call needs no lock and its slow steps block no other call.
//
// Thread-safe. A task may post to its own strand and may destroy it: the tasks that are queued then
// still run. The executor must outlive the last task.
class Strand {
 public:
  explicit Strand(Executor& executor);

  void Post(Executor::Task task);

 private:
  struct State;
  static void Drain(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;
};

}  // namespace neffcache
