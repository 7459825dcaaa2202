// What people and waiting clients see of the Scheduler.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/scheduler/scheduler.h"

namespace neffcache {

using State = Compile::State;

bool Scheduler::Offers(const Toolchain& toolchain) const {
  const WorkerPool::Capacity capacity = workers_.CapacityFor(toolchain);
  return capacity.workers + capacity.leaving > 0;
}

const Compile* Scheduler::WaitedFor(CallerId caller) const {
  const auto found = callers_.find(caller);
  return found == callers_.end() ? nullptr : Find(found->second);
}

void Scheduler::ForEach(absl::FunctionRef<void(const Compile&)> visit) const {
  for (const auto& [key, compile] : in_flight_) visit(*compile);
}

std::vector<const Compile*> Scheduler::InOrder() const {
  std::vector<const Compile*> running;
  std::vector<const Compile*> queued;
  std::vector<const Compile*> others;
  for (const auto& [key, compile] : in_flight_) {
    if (compile->lease) {
      running.push_back(compile.get());
    } else if (compile->state != State::kQueued) {
      others.push_back(compile.get());
    }
  }
  queue_.ForEach([&](const Compile& compile) { queued.push_back(&compile); });
  const auto older = [](const Compile* a, const Compile* b) { return a->sequence < b->sequence; };
  std::sort(running.begin(), running.end(), older);
  std::sort(others.begin(), others.end(), older);
  std::sort(queued.begin(), queued.end(),
            [](const Compile* a, const Compile* b) { return a->rank < b->rank; });
  running.insert(running.end(), queued.begin(), queued.end());
  running.insert(running.end(), others.begin(), others.end());
  return running;
}

std::string Scheduler::ReasonToWait(const Compile& compile, const WorkerPool::Capacity& capacity,
                                    absl::Time now) const {
  const std::string toolchain = ToString(compile.material.toolchain);
  if (capacity.workers == 0) {
    return capacity.leaving == 0
               ? absl::StrCat("no connected worker offers ", toolchain)
               : absl::StrCat("every worker that offers ", toolchain, " is leaving or silent");
  }
  if (compile.state == State::kBackingOff) {
    return absl::StrFormat(
        "attempt %d starts in %s: %s", compile.attempts.made + 1,
        absl::FormatDuration(absl::Trunc(
            std::max(absl::ZeroDuration(), compile.wake - now) + absl::Milliseconds(999),
            absl::Seconds(1))),
        compile.last_failure);
  }
  if (compile.overtaken > 0) {
    return absl::StrFormat("waits for %.1f GB of memory on a worker",
                           static_cast<double>(compile.memory_needed) / 1e9);
  }
  if (compile.attempts.made > 0 && !compile.last_failure.empty()) {
    return absl::StrFormat("attempt %d follows: %s", compile.attempts.made + 1,
                           compile.last_failure);
  }
  return "";
}

CompileStatus Scheduler::Describe(const Compile& compile, absl::Time now) const {
  CompileStatus status;
  status.state = compile.state;
  status.elapsed = std::max(absl::ZeroDuration(), now - compile.since);
  if (compile.lease) {
    status.elapsed = std::max(absl::ZeroDuration(), now - compile.lease->granted);
  }
  status.expected = compile.expected.duration;
  status.attempt = compile.attempts.made + 1;
  if (!compile.waits()) return status;

  const Toolchain& toolchain = compile.material.toolchain;
  const WorkerPool::Capacity capacity = workers_.CapacityFor(toolchain);
  status.reason = ReasonToWait(compile, capacity, now);
  if (compile.state == State::kBackingOff) return status;
  const size_t position = queue_.Position(toolchain, compile.rank);
  status.position = static_cast<uint32_t>(position);
  if (capacity.slots == 0) return status;

  // A rough estimate: the work ahead, spread over the slots. Those ahead are taken to be as long as
  // the queue's average, the running ones to be half done.
  absl::Duration ahead = queue_.ExpectedTotal(toolchain) *
                         (static_cast<double>(position) /
                          static_cast<double>(std::max<size_t>(1, queue_.size(toolchain))));
  const uint64_t busy = capacity.slots - capacity.free_slots;
  ahead += compile.expected.duration / 2 * static_cast<int64_t>(busy);
  status.expected_wait = ahead / static_cast<int64_t>(capacity.slots);
  return status;
}

}  // namespace neffcache
