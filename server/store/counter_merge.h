#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "rocksdb/merge_operator.h"

namespace neffcache {

// A counter's value: a signed 64-bit integer, little-endian. 0 unless `value` is one.
int64_t DecodeCounter(absl::string_view value);
std::string EncodeCounter(int64_t value);

// Adds counters, so that concurrent batches count without reading first. Only counters are merged
// into; the other rows of their column family are plain.
class CounterMerge : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice& key, const rocksdb::Slice* existing, const rocksdb::Slice& delta,
             std::string* sum, rocksdb::Logger* logger) const override;
  const char* Name() const override { return "neffcache.counter"; }
};

}  // namespace neffcache
