#include "server/store/ready_table.h"

#include <utility>

namespace neffcache {

void ReadyTable::Shard::Add(const Key& key, const ReadyState& state) {
  if (recent.size() >= kKeysPerGeneration) older = std::exchange(recent, {});
  recent.insert_or_assign(key, state);
}

absl::optional<ReadyState> ReadyTable::Find(const Key& key) {
  Shard& shard = ShardOf(key);
  absl::MutexLock lock(&shard.mutex);
  if (const auto found = shard.recent.find(key); found != shard.recent.end()) return found->second;
  const auto found = shard.older.find(key);
  if (found == shard.older.end()) return absl::nullopt;
  const ReadyState state = found->second;
  shard.older.erase(found);
  shard.Add(key, state);
  return state;
}

void ReadyTable::Remember(Mark mark, const Key& key, const ReadyState& state) {
  Shard& shard = ShardOf(key);
  absl::MutexLock lock(&shard.mutex);
  // Asked with the lock held: a Forget() that is counted later still comes for this key.
  if (forgotten_.load() != mark.forgotten_) return;
  shard.Add(key, state);
}

void ReadyTable::Forget(absl::Span<const Key> keys) {
  ++forgotten_;
  for (const Key& key : keys) {
    Shard& shard = ShardOf(key);
    absl::MutexLock lock(&shard.mutex);
    shard.recent.erase(key);
    shard.older.erase(key);
  }
}

}  // namespace neffcache
