#include "server/store/usage_batch.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/types/optional.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/row_codec.h"

namespace neffcache {
namespace {

constexpr absl::Duration kInterval = absl::Minutes(1);
constexpr size_t kManyKeys = 65'536;

void Merge(const KeyUse& more, KeyUse& use) {
  use.hits += more.hits;
  use.last_used = std::max(use.last_used, more.last_used);
}

}  // namespace

UsageBatch::UsageBatch(Database& database, std::function<absl::Time()> clock)
    : database_(database), clock_(std::move(clock)), flusher_([this] { Run(); }) {}

UsageBatch::~UsageBatch() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  flusher_.join();
  Flush();
}

void UsageBatch::Note(const Key& key) {
  const absl::Time now = clock_();
  absl::MutexLock lock(&mu_);
  Merge({now, 1}, pending_[key]);
}

absl::StatusOr<KeyUse> UsageBatch::Stored(const Key& key) const {
  ASSIGN_OR_RETURN(const absl::optional<std::string> row,
                   database_.Get(Column::kUsage, key.bytes()));
  if (!row.has_value()) return KeyUse();
  return DecodeUse(*row);
}

absl::StatusOr<KeyUse> UsageBatch::Find(const Key& key) const {
  ASSIGN_OR_RETURN(KeyUse use, Stored(key));
  absl::MutexLock lock(&mu_);
  const auto pending = pending_.find(key);
  if (pending != pending_.end()) Merge(pending->second, use);
  return use;
}

absl::Status UsageBatch::Add(const Uses& uses) {
  Batch batch = database_.NewBatch();
  for (const auto& [key, more] : uses) {
    ASSIGN_OR_RETURN(KeyUse use, Stored(key));
    Merge(more, use);
    batch.Put(Column::kUsage, key.bytes(), EncodeUse(use));
  }
  return database_.Write(std::move(batch), Durability::kBuffered);
}

void UsageBatch::Flush() {
  Uses uses;
  {
    absl::MutexLock lock(&mu_);
    uses.swap(pending_);
  }
  if (uses.empty() || Add(uses).ok()) return;
  // The disk is full, say: they wait for the next time, unless too many do.
  absl::MutexLock lock(&mu_);
  if (pending_.size() >= kManyKeys) return;
  for (const auto& [key, use] : uses) Merge(use, pending_[key]);
}

void UsageBatch::Run() {
  const auto due = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return stopping_ || pending_.size() >= kManyKeys;
  };
  for (;;) {
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(&due), kInterval);
      if (stopping_) return;
    }
    Flush();
  }
}

}  // namespace neffcache
