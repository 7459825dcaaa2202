#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "server/store/store.h"

namespace neffcache {

// Walks a list of things that have keys in batches small enough to hold in memory with their
// entries (which may be large). Not thread-safe; Next() blocks on the store.
template <typename Item>
class EntryBatches {
 public:
  struct Found {
    Item item;
    absl::optional<Entry> entry;
  };

  EntryBatches(const Store& store, std::vector<Item> items)
      : store_(store), items_(std::move(items)) {}

  // Empty at the end.
  absl::StatusOr<std::vector<Found>> Next() {
    constexpr size_t kBatch = 64;
    std::vector<Key> keys;
    const size_t begin = at_;
    for (; at_ < items_.size() && keys.size() < kBatch; ++at_) keys.push_back(KeyOf(items_[at_]));
    if (keys.empty()) return std::vector<Found>();
    absl::StatusOr<std::vector<absl::optional<Entry>>> entries = store_.Find(keys);
    if (!entries.ok()) return entries.status();
    std::vector<Found> found;
    for (size_t i = 0; i < keys.size(); ++i) {
      found.push_back({items_[begin + i], std::move((*entries)[i])});
    }
    return found;
  }

 private:
  static const Key& KeyOf(const Key& key) { return key; }
  static const Key& KeyOf(const BundleKey& item) { return item.key; }

  const Store& store_;
  const std::vector<Item> items_;
  size_t at_ = 0;
};

}  // namespace neffcache
