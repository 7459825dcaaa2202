#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "graph/key.h"
#include "server/store/entry.h"

namespace neffcache {

// Some of the ready entries, as they are in the database, in memory: what answers a batch of
// thousands of keys without as many reads of RocksDB.
//
// Promises: a key is here only while its entry is ready. That is little to keep, for a ready entry
// never changes and is taken away by a quarantine alone. Whatever is not here may be in the
// database: failures and unknown keys never are. At most kMostKeys keys, those asked for lately.
//
// Thread-safe; never waits for the disk.
class ReadyTable {
 public:
  static constexpr size_t kMostKeys = 65'536;

  // The state of the table before a read of the database. An entry that was read since may be
  // remembered unless it was forgotten meanwhile.
  class Mark {
   private:
    friend class ReadyTable;
    explicit Mark(uint64_t forgotten) : forgotten_(forgotten) {}
    uint64_t forgotten_;
  };

  absl::optional<ReadyState> Find(const Key& key);
  Mark BeforeReading() const { return Mark(forgotten_.load()); }
  // Does nothing when any key was forgotten since `mark`: the entry may be one of those.
  void Remember(Mark mark, const Key& key, const ReadyState& state);
  // After the database has forgotten them: nobody who asks from here on finds them.
  void Forget(absl::Span<const Key> keys);

 private:
  using States = absl::flat_hash_map<Key, ReadyState>;
  // When `recent` is full it becomes `older`, and what nobody asked for since goes.
  struct Shard {
    absl::Mutex mutex;
    States recent ABSL_GUARDED_BY(mutex);
    States older ABSL_GUARDED_BY(mutex);

    void Add(const Key& key, const ReadyState& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  };
  static constexpr size_t kShards = 16;
  static constexpr size_t kKeysPerGeneration = kMostKeys / kShards / 2;

  Shard& ShardOf(const Key& key) {
    return shards_[static_cast<uint8_t>(key.bytes().back()) % kShards];
  }

  std::atomic<uint64_t> forgotten_ = 0;  // Calls of Forget.
  std::array<Shard, kShards> shards_;
};

}  // namespace neffcache
