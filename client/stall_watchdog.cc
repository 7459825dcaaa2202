#include "client/stall_watchdog.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace neffcache {

StallWatchdog::Watch::Watch(StallWatchdog& watchdog, std::shared_ptr<grpc::ClientContext> call,
                            absl::Duration limit)
    : watchdog_(watchdog), call_(std::move(call)), limit_(limit) {
  bool unwanted;
  {
    absl::MutexLock lock(&watchdog_.mutex_);
    watchdog_.watches_.insert(this);
    unwanted = watchdog_.broken_off_;
  }
  if (unwanted) call_->TryCancel();
}

StallWatchdog::Watch::~Watch() {
  absl::MutexLock lock(&watchdog_.mutex_);
  watchdog_.watches_.erase(this);
}

void StallWatchdog::Watch::Arm() {
  const absl::Time deadline = absl::Now() + limit_;
  absl::MutexLock lock(&watchdog_.mutex_);
  deadline_ = deadline;
  // Deadlines mostly move away from now: the thread then finds the new one when it wakes for the
  // old, and a stream of messages costs no wake-ups.
  if (deadline < watchdog_.next_look_) watchdog_.changed_.Signal();
}

void StallWatchdog::Watch::Disarm() {
  absl::MutexLock lock(&watchdog_.mutex_);
  deadline_ = absl::InfiniteFuture();
}

bool StallWatchdog::Watch::fired() const {
  absl::MutexLock lock(&watchdog_.mutex_);
  return fired_;
}

StallWatchdog::StallWatchdog() : thread_([this] { Run(); }) {}

StallWatchdog::~StallWatchdog() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  changed_.Signal();
}

void StallWatchdog::BreakOff() {
  std::vector<std::shared_ptr<grpc::ClientContext>> calls;
  {
    absl::MutexLock lock(&mutex_);
    broken_off_ = true;
    for (const Watch* watch : watches_) calls.push_back(watch->call_);
  }
  for (const auto& call : calls) call->TryCancel();
}

bool StallWatchdog::WaitForBreakOff(absl::Duration limit) const {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&broken_off_), limit);
}

void StallWatchdog::Run() {
  for (;;) {
    std::vector<std::shared_ptr<grpc::ClientContext>> overdue;
    {
      absl::MutexLock lock(&mutex_);
      overdue = TakeOverdue(absl::Now());
      if (overdue.empty()) {
        if (stopping_) return;
        changed_.WaitWithDeadline(&mutex_, next_look_);
      }
    }
    // Outside the lock: gRPC may run code of ours in it. The calls are kept alive by `overdue`.
    for (const auto& call : overdue) call->TryCancel();
  }
}

std::vector<std::shared_ptr<grpc::ClientContext>> StallWatchdog::TakeOverdue(absl::Time now) {
  std::vector<std::shared_ptr<grpc::ClientContext>> overdue;
  next_look_ = absl::InfiniteFuture();
  for (Watch* watch : watches_) {
    if (watch->deadline_ <= now) {
      watch->fired_ = true;
      watch->deadline_ = absl::InfiniteFuture();
      overdue.push_back(watch->call_);
    } else {
      next_look_ = std::min(next_look_, watch->deadline_);
    }
  }
  return overdue;
}

}  // namespace neffcache
