#pragma once

#include <grpcpp/client_context.h>

#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace neffcache {

// Breaks off calls of the synchronous gRPC API in which the peer says nothing for too long. Such a
// call has no time-out of its own for one message, only a deadline for the whole.
//
// One thread watches any number of calls. Thread-safe; must outlive its watches.
class StallWatchdog {
 public:
  // Watches one call for the life of this object. Used by the thread that makes the call.
  class Watch {
   public:
    Watch(StallWatchdog& watchdog, std::shared_ptr<grpc::ClientContext> call, absl::Duration limit);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // Runs `wait`, which waits for the peer once (a Read, Write or Finish); the call is cancelled
    // when that takes longer than the limit. Time between two waits, the caller's own, is free.
    template <typename Wait>
    auto During(Wait wait) {
      Arm();
      auto result = wait();
      Disarm();
      return result;
    }

    // True once the call was cancelled for being silent.
    bool fired() const;
    absl::Duration limit() const { return limit_; }

   private:
    friend class StallWatchdog;

    void Arm();
    void Disarm();

    StallWatchdog& watchdog_;
    const std::shared_ptr<grpc::ClientContext> call_;
    const absl::Duration limit_;
    // These two are guarded by the watchdog's mutex.
    absl::Time deadline_ = absl::InfiniteFuture();
    bool fired_ = false;
  };

  StallWatchdog();
  ~StallWatchdog();

  // Breaks off every watched call, now and from now on: nobody wants the answers any more.
  void BreakOff();
  bool broken_off() const { return WaitForBreakOff(absl::ZeroDuration()); }
  // Waits for `limit` or, if that is sooner, for BreakOff(). True when that was called.
  bool WaitForBreakOff(absl::Duration limit) const;

 private:
  void Run();
  // Takes the overdue calls off the watch and returns them; sets when to look next.
  std::vector<std::shared_ptr<grpc::ClientContext>> TakeOverdue(absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  absl::CondVar changed_;
  absl::flat_hash_set<Watch*> watches_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_look_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool broken_off_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // Last: it uses all of the above.
};

}  // namespace neffcache
