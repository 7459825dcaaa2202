#include "server/store/database_options.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/listener.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"
#include "server/store/counter_merge.h"
#include "server/store/database.h"
#include "server/store/database_log.h"

namespace neffcache {
namespace {

constexpr size_t kBlockCacheBytes = size_t{64} << 20;
constexpr size_t kRecordBufferBytes = size_t{16} << 20;
constexpr size_t kInlineBufferBytes = size_t{64} << 20;
// Bounds what a restart replays.
constexpr uint64_t kWalBytes = uint64_t{128} << 20;

// RocksDB would look for space every few seconds and refuse writers until then; Database::Write
// resumes it at once instead.
class ResumedByWriters : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status error,
                            bool* auto_recovery) override {
    if (error.IsNoSpace()) *auto_recovery = false;
  }
};

}  // namespace

rocksdb::DBOptions DatabaseOptions(std::function<void(absl::string_view)> log) {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  // RocksDB 7.8 may lose files when one of several parallel flushes fails.
  options.max_background_flushes = 1;
  options.max_background_compactions = 2;
  options.max_open_files = -1;
  options.max_total_wal_size = kWalBytes;
  // A log that ends within a record is what a kill or a full disk leaves, and what was acknowledged
  // comes before it. Any other damage refuses to open: RocksDB's default would drop every
  // acknowledged write behind it and say nothing.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  // Network file systems lack it or have it in part only.
  options.allow_fallocate = false;
  options.listeners.push_back(std::make_shared<ResumedByWriters>());
  options.info_log = std::make_shared<DatabaseLog>(std::move(log));
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> ColumnDescriptors() {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  // Misses are the hot path of a cold cluster: a filter answers them from memory.
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));

  rocksdb::ColumnFamilyOptions records;
  records.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  records.write_buffer_size = kRecordBufferBytes;
  records.level_compaction_dynamic_level_bytes = true;
  records.compression = rocksdb::kNoCompression;
  records.bottommost_compression = rocksdb::kZSTD;

  rocksdb::ColumnFamilyOptions counters = records;
  counters.merge_operator = std::make_shared<CounterMerge>();

  // Artifacts hardly compress, and are sent as they are.
  rocksdb::ColumnFamilyOptions bytes = records;
  bytes.write_buffer_size = kInlineBufferBytes;
  bytes.bottommost_compression = rocksdb::kNoCompression;

  // Names are part of the format.
  return {{rocksdb::kDefaultColumnFamilyName, counters},
          {"entries", records},
          {"failures", records},
          {"artifacts", records},
          {"references", records},
          {"inline", bytes},
          {"graphs", records},
          {"bundles", records},
          {"bundles_of", records},
          {"native", records},
          {"queue", records},
          {"usage", records},
          {"parts", records},
          {"misses", records}};
}

}  // namespace neffcache
