#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "io/file.h"
#include "server/store/space_guard.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
class Status;
class WriteBatch;
}  // namespace rocksdb

namespace neffcache {

// Column families; docs/formats/store.md has their keys and values.
enum class Column : size_t {
  kDefault,     // Layout version, store id, counters.
  kEntries,     // key -> EntryRecord
  kFailures,    // expiry, key -> nothing: the failures among the entries
  kArtifacts,   // artifact digest -> ArtifactRecord
  kReferences,  // artifact digest, key -> nothing: the entries of an artifact
  kInline,      // artifact digest -> its bytes
  kGraphs,      // fingerprint -> GraphRecord
  kBundles,     // bundle, key -> BundleRecord
  kBundlesOf,   // key, bundle -> nothing
  kNative,      // toolchain version, stock module -> key
  kQueue,       // key -> QueuedCompile
  kUsage,       // key -> UsageRecord
  kParts,       // key -> PartsRecord, and the index of the parts
  kMisses,      // key -> Miss
  kCount
};

// Changes that become visible, and durable, together.
class Batch {
 public:
  Batch(Batch&&) noexcept;
  ~Batch();

  void Put(Column column, absl::string_view key, absl::string_view value);
  void Delete(Column column, absl::string_view key);
  // Adds to a counter of column kDefault.
  void Add(absl::string_view counter, int64_t delta);

 private:
  friend class Database;
  using Handles = std::array<rocksdb::ColumnFamilyHandle*, static_cast<size_t>(Column::kCount)>;

  explicit Batch(const Handles& columns);

  const Handles& columns_;
  std::unique_ptr<rocksdb::WriteBatch> changes_;
};

// The RocksDB of a store: the one place that knows RocksDB and its options.
//
// Errors: RESOURCE_EXHAUSTED when the disk is full, DATA_LOSS when RocksDB finds itself damaged,
// UNAVAILABLE for what may pass. An absent row is never an error.
//
// Thread-safe. Must outlive its batches.
class Database {
 public:
  // Creates it when absent. FAILED_PRECONDITION: another process has it open, or a newer program
  // wrote it. DATA_LOSS: it is damaged, in the log of the last writes or elsewhere. `log` receives
  // RocksDB's warnings, from any thread; it may be empty.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& directory,
                                                        std::function<void(absl::string_view)> log);
  // Writes what it holds in memory to tables first, so that the next start replays nothing.
  ~Database();

  // Moves the files of a damaged database into a new directory inside `directory`, which may be a
  // mount; returns its path. What it holds is for people: nothing reads it again.
  static absl::StatusOr<std::string> PutAside(const std::string& directory, absl::Time now);

  absl::StatusOr<absl::optional<std::string>> Get(Column column, absl::string_view key) const;
  // Calls `found` with the index and value of each key that is there. A row that cannot be read
  // because its block is damaged is not: it costs its own key, not the others; damaged() counts it.
  absl::Status MultiGet(Column column, absl::Span<const absl::string_view> keys,
                        absl::FunctionRef<void(size_t, absl::string_view)> found) const;
  // Visits the rows whose keys begin with `prefix`, from `start` on, in order and as of now, until
  // `visit` returns false. `start` must begin with `prefix`.
  absl::Status Scan(
      Column column, absl::string_view prefix, absl::string_view start,
      absl::FunctionRef<bool(absl::string_view key, absl::string_view value)> visit) const;
  absl::Status Scan(
      Column column, absl::string_view prefix,
      absl::FunctionRef<bool(absl::string_view key, absl::string_view value)> visit) const {
    return Scan(column, prefix, prefix, visit);
  }
  // Reads every block of every table. DATA_LOSS: one does not have its checksum, which RocksDB
  // would find only when somebody reads that block.
  absl::Status Verify() const;
  // Reads of damaged rows that MultiGet passed over since Open.
  uint64_t damaged() const { return damaged_; }
  // 0 when it was never added to.
  absl::StatusOr<int64_t> Counter(absl::string_view name) const;

  Batch NewBatch() const;
  // All of the batch or nothing. With kSynced it survives the machine, else the process.
  absl::Status Write(Batch batch, Durability durability);

 private:
  explicit Database(std::string directory);

  rocksdb::ColumnFamilyHandle* Handle(Column column) const;
  absl::Status Describe(const rocksdb::Status& status, absl::string_view doing) const;

  const std::string directory_;
  const SpaceGuard room_to_resume_;
  std::unique_ptr<rocksdb::DB> db_;
  Batch::Handles columns_ = {};
  mutable std::atomic<uint64_t> damaged_ = 0;
};

}  // namespace neffcache
