#pragma once

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"

namespace neffcache {

// Lets one thread at a time work on a name; threads on different names never wait for each other,
// and no mutex is held while they work. Thread-safe.
template <typename Name>
class Turns {
 public:
  // Ends when destroyed. Must not outlive its Turns.
  class Turn {
   public:
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), name_(other.name_) {}
    ~Turn() {
      if (turns_ != nullptr) turns_->End(name_);
    }

   private:
    friend class Turns;
    Turn(Turns* turns, const Name& name) : turns_(turns), name_(name) {}

    Turns* turns_;
    Name name_;
  };

  // Waits until nobody else works on `name`.
  Turn Take(const Name& name) {
    const auto free = [this, &name]()
                          ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !busy_.contains(name); };
    absl::MutexLock lock(&mu_, absl::Condition(&free));
    busy_.insert(name);
    return Turn(this, name);
  }

 private:
  void End(const Name& name) {
    absl::MutexLock lock(&mu_);
    busy_.erase(name);
  }

  absl::Mutex mu_;
  absl::flat_hash_set<Name> busy_ ABSL_GUARDED_BY(mu_);
};

}  // namespace neffcache
