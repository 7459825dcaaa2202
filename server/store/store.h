#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "io/digest.h"
#include "server/store/content.h"
#include "server/store/entry.h"
#include "server/store/near_entry.h"

namespace neffcache {

struct StoreOptions {
  std::string data_dir;                       // Created when absent.
  std::string db_dir;                         // Empty: data_dir/db.
  uint64_t inline_limit = uint64_t{1} << 20;  // Larger artifacts are files.
  // New content is refused with RESOURCE_EXHAUSTED when a disk has less free than this, so that
  // records can still be written; reads go on.
  uint64_t min_free_bytes = uint64_t{64} << 20;
  std::function<absl::Time()> clock = absl::Now;
  // Instead of refusing a damaged database, puts its files aside (DIR/damaged-SECONDS in its own
  // directory) and begins a new one: for RebuildIndex().
  bool replace_damaged_database = false;
  // Receives RocksDB's warnings, a line at a time, from any thread.
  std::function<void(absl::string_view line)> database_log;
  // For tests: called after each step of a commit or enqueue with its name (docs/formats/store.md),
  // from the thread that does it.
  std::function<void(absl::string_view step)> on_step;
};

// A bundle as people see it.
struct BundleSummary {
  std::string name;
  uint64_t keys = 0;
  uint64_t ready = 0;
  uint64_t bytes = 0;
  absl::Time last_seen = absl::UnixEpoch();
};

struct BundleKey {
  Key key;
  absl::Time first_seen;
  absl::Time last_seen;
};

struct StoreCounts {
  uint64_t entries_ready = 0;
  uint64_t entries_failed = 0;
  uint64_t artifacts = 0;
  uint64_t artifact_bytes = 0;
  uint64_t damaged = 0;  // Artifacts, graphs, queued compiles, rows of a Find; since Open.
};

// What a rebuild found among the record files.
struct RebuildCounts {
  uint64_t taken_up = 0;
  uint64_t known = 0;    // Already in the database.
  uint64_t damaged = 0;  // The record or its artifact; left where it is.
};

// Everything that a daemon keeps: entries, artifacts, graphs, logs, bundles and the queue, in
// RocksDB and in digest-named files beside it (layout: docs/formats/store.md).
//
// Promises: what a Commit or Enqueue acknowledged survives a crash of the process or the machine; a
// crash at any other moment leaves the state before or after, and files without an owner at most.
// Content is checked against its digest when it is written. The first commit of a key wins. "Not
// found" is never said for full, busy or damaged: those are RESOURCE_EXHAUSTED, UNAVAILABLE and
// DATA_LOSS.
//
// Thread-safe; every call may block on the disk. One process at a time holds a store.
class Store {
 public:
  // FAILED_PRECONDITION: another daemon holds the directory (the message names it), the layout's
  // version is newer, or db_dir belongs to another data_dir (one that is not mounted, perhaps).
  // DATA_LOSS: the database is damaged; the message says what to do.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const StoreOptions& options);
  ~Store();

  // --- Entries

  // NOT_FOUND: nothing is known. A failure that is no longer remembered is not found.
  absl::StatusOr<Entry> Find(const Key& key) const;
  // One slot for each key, empty where nothing is known or the entry cannot be read or decoded.
  absl::StatusOr<std::vector<absl::optional<Entry>>> Find(absl::Span<const Key> keys) const;
  // The same of ready entries that were found in a batch lately, without a look at the disk. An
  // empty slot says nothing of its key: Find() does.
  std::vector<absl::optional<ReadyState>> FindReadyInMemory(absl::Span<const Key> keys) const;
  // For a key that Find() does not find, before it is compiled: the entry of its record file, when
  // the database has lost it, taken up again after a check of its artifact. NOT_FOUND.
  absl::StatusOr<Entry> Recall(const Key& key);
  // The key with this prefix of 8 to 64 hex digits, among entries. NOT_FOUND; FAILED_PRECONDITION:
  // several.
  absl::StatusOr<Key> ResolvePrefix(absl::string_view prefix) const;
  // All entries by key, until `visit` returns false.
  absl::Status ForEachEntry(absl::FunctionRef<bool(const Entry&)> visit) const;
  // A kept graph with this fingerprint, from any entry. NOT_FOUND.
  absl::StatusOr<GraphRecord> FindGraph(const Fingerprint& fingerprint) const;
  // Reads all of a kept graph. DATA_LOSS: it does not have its digest; NOT_FOUND: it is gone.
  absl::Status CheckGraph(const GraphRecord& graph) const;
  // Forgets a kept graph that is damaged or gone, so that the next order asks a client for it. One
  // that proves whole stays; it is not an error when none is kept.
  absl::Status ForgetGraph(const Digest& graph);

  // --- Content: artifacts, graphs, logs

  // A writer for new content; nothing is visible until a commit takes it.
  absl::StatusOr<ContentWriter> Stage(ContentKind kind);
  // NOT_FOUND; DATA_LOSS: it is missing, short or was found damaged before. An artifact found so is
  // quarantined.
  absl::StatusOr<ContentReader> OpenContent(ContentKind kind, const Digest& digest) const;
  // Of any entry with this artifact; zero when it is unknown.
  absl::Duration CompileTimeOf(const Digest& artifact) const;
  // Never serves these bytes again: a reader found that they do not have their digest. The
  // artifact's entries are forgotten, so that the next request compiles again; a commit of the same
  // artifact brings good bytes. NOT_FOUND: there is no such artifact.
  absl::Status Quarantine(const Digest& artifact);
  // The entries that quarantines have forgotten since the last call, for whoever compiles them
  // again; 10 000 at most.
  std::vector<Entry> TakeQuarantined();

  // --- Commits

  struct Committed {
    Entry entry;            // What the key holds now.
    bool accepted = false;  // False: an earlier artifact stays.
  };
  // Makes artifact and entry visible together, durably, and takes the key out of the queue.
  // `entry.state` must be ready and agree with `artifact`, else INVALID_ARGUMENT. Replaces a
  // failure, never an artifact, not even one that the database has lost and Recall() would find.
  absl::StatusOr<Committed> CommitReady(Entry entry, StagedContent artifact,
                                        absl::optional<StagedContent> log);
  // Remembers a failure until its `remembered_until` (not at all when that has passed) and takes
  // the key out of the queue. Never replaces an artifact.
  absl::Status CommitFailed(Entry entry, absl::optional<StagedContent> log);
  // Clears a remembered failure. NOT_FOUND: none is remembered.
  absl::Status ForgetFailure(const Key& key);

  // --- The queue

  // Keeps the graph and the compile, durably: it survives a restart from here on. With `graph`
  // empty, a graph of that digest must be kept already, else FAILED_PRECONDITION. A graph that is
  // not compile.graph is INVALID_ARGUMENT.
  absl::Status Enqueue(const QueuedCompile& compile, absl::optional<StagedContent> graph);
  // Notes another attempt. NOT_FOUND: it is not in the queue (any more).
  absl::Status UpdateQueued(const QueuedCompile& compile);
  // Not an error when it is not in the queue.
  absl::Status Dequeue(const Key& key);
  // Oldest first. Compiles that cannot be decoded are deleted and counted as damaged: whoever waits
  // for one asks again. DATA_LOSS: the database is damaged there; the message says what to do.
  absl::StatusOr<std::vector<QueuedCompile>> LoadQueue();

  // --- Bundles and use

  // INVALID_ARGUMENT: the name is empty, longer than kMaxNameBytes or not UTF-8 without NUL.
  absl::Status RecordInBundle(absl::string_view bundle, absl::Span<const Key> keys);
  absl::StatusOr<std::vector<BundleSummary>> ListBundles() const;
  // By key. NOT_FOUND: no such bundle.
  absl::StatusOr<std::vector<BundleKey>> GetBundle(absl::string_view bundle) const;
  absl::StatusOr<std::vector<std::string>> BundlesOf(const Key& key) const;
  // Remembers in memory that a key was used; written in batches, and at the end. A crash forgets
  // the last minute.
  void NoteUse(const Key& key);
  // Zero for a key that was never used.
  absl::StatusOr<KeyUse> UseOf(const Key& key) const;
  // The key of a stock cache module ("MODULE_x+y") under this toolchain version.
  absl::Status RecordNative(absl::string_view toolchain_version, absl::string_view module,
                            const Key& key);
  // NOT_FOUND.
  absl::StatusOr<Key> FindNative(absl::string_view toolchain_version,
                                 absl::string_view module) const;

  // --- Why keys are compiled. Best effort: not durable, and not rebuilt by RebuildIndex().

  // Makes the key's entry one that Nearest() finds: by its graph's parts, where they are known, by
  // its fingerprint and its name. It goes with the entry. NOT_FOUND: there is no entry.
  absl::Status IndexParts(const Key& key, const absl::optional<GraphParts>& parts);
  // At most 4 entries that are like the key, most alike first, whatever the number of entries:
  // looks at some 150 at most, the newest of those that have a part in common.
  absl::StatusOr<std::vector<NearEntry>> Nearest(const NearQuery& query) const;
  // Replaces what was recorded for the key. It goes with the entry. NOT_FOUND: the key is neither
  // queued nor has it an entry.
  absl::Status RecordMiss(const Key& key, const Miss& miss);
  // NOT_FOUND.
  absl::StatusOr<Miss> FindMiss(const Key& key) const;
  // One slot for each key, empty where nothing is recorded.
  std::vector<absl::optional<Miss>> FindMisses(absl::Span<const Key> keys) const;

  absl::StatusOr<StoreCounts> Count() const;

  // Takes up the entries of record files that the database does not know, each after a check of its
  // artifact's bytes: for a database that was lost or replaced. Failures, the queue and the uses
  // are lost with a database.
  absl::StatusOr<RebuildCounts> RebuildIndex();

 private:
  struct Parts;
  explicit Store(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace neffcache
