#pragma once

#include <cstdint>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "graph/key.h"
#include "server/store/database.h"
#include "server/store/entry.h"

namespace neffcache {

// Counts uses of keys in memory and adds them to the database every minute, when many have come,
// and when destroyed.
//
// Thread-safe; Note() never waits for the disk. The database must outlive it.
class UsageBatch {
 public:
  UsageBatch(Database& database, std::function<absl::Time()> clock);
  ~UsageBatch();

  void Note(const Key& key);
  // What is on disk and in memory together.
  absl::StatusOr<KeyUse> Find(const Key& key) const;

 private:
  using Uses = absl::flat_hash_map<Key, KeyUse>;

  void Run();
  absl::StatusOr<KeyUse> Stored(const Key& key) const;
  absl::Status Add(const Uses& uses);
  void Flush();

  Database& database_;
  const std::function<absl::Time()> clock_;

  mutable absl::Mutex mu_;
  Uses pending_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::jthread flusher_;  // Last: it uses all of the above.
};

}  // namespace neffcache
