#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "graph/key.h"

namespace neffcache {

// Carries out writes to the store that nobody can wait for, one after another in the order in which
// they were posted, on a thread of its own.
//
// Thread-safe. The destructor carries out what is pending. A write may block, and may post.
class StoreWriter {
 public:
  using Write = std::function<void()>;

  StoreWriter();
  ~StoreWriter();

  void Post(const Key& key, Write write);
  // Returns when no write of this key is pending. Must not be called from a write.
  void Await(const Key& key);

 private:
  void Run();
  bool Due() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !writes_.empty(); }

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::pair<Key, Write>> writes_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Key, int> pending_ ABSL_GUARDED_BY(mutex_);  // The one being done included.
  std::jthread thread_;
};

}  // namespace neffcache
