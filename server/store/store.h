#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
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

namespace neffcache {

struct StoreOptions {
  std::string data_dir;                       // Created when absent.
  std::string db_dir;                         // Empty: data_dir/db.
  uint64_t inline_limit = uint64_t{1} << 20;  // Larger artifacts are files.
  std::function<absl::Time()> clock = absl::Now;
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
  uint64_t damaged = 0;  // Found since Open.
};

// Everything that a daemon keeps: entries, artifacts, graphs, logs, bundles and the queue, in
// RocksDB and in digest-named files beside it (layout: docs/formats.md).
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
  // FAILED_PRECONDITION: another daemon holds the directory (the message names it), or the layout's
  // version is newer.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const StoreOptions& options);
  ~Store();

  // --- Entries

  // NOT_FOUND: nothing is known. A failure that is no longer remembered is not found.
  absl::StatusOr<Entry> Find(const Key& key) const;
  // One slot for each key, empty where nothing is known.
  absl::StatusOr<std::vector<absl::optional<Entry>>> Find(absl::Span<const Key> keys) const;
  // The key with this prefix of 8 to 64 hex digits, among entries. NOT_FOUND; FAILED_PRECONDITION:
  // several.
  absl::StatusOr<Key> ResolvePrefix(absl::string_view prefix) const;
  // All entries by key, until `visit` returns false.
  absl::Status ForEachEntry(absl::FunctionRef<bool(const Entry&)> visit) const;
  // A kept graph with this fingerprint, from any entry. NOT_FOUND.
  absl::StatusOr<GraphRecord> FindGraph(const Fingerprint& fingerprint) const;

  // --- Content: artifacts, graphs, logs

  // A writer for new content; nothing is visible until a commit takes it.
  absl::StatusOr<ContentWriter> Stage(ContentKind kind);
  // NOT_FOUND; DATA_LOSS: it was found damaged before.
  absl::StatusOr<ContentReader> OpenContent(ContentKind kind, const Digest& digest) const;
  // Never serves this artifact again: a reader found that its bytes do not have its digest. Its
  // entries are forgotten, so that the next request compiles again.
  absl::Status Quarantine(const Digest& artifact);

  // --- Commits

  struct Committed {
    Entry entry;            // What the key holds now.
    bool accepted = false;  // False: an earlier artifact stays.
  };
  // Makes artifact and entry visible together, durably, and takes the key out of the queue.
  // `entry.state` must be ready and agree with `artifact`, else INVALID_ARGUMENT. Replaces a
  // failure, never an artifact.
  absl::StatusOr<Committed> CommitReady(Entry entry, StagedContent artifact,
                                        absl::optional<StagedContent> log);
  // Remembers a failure until its `remembered_until` (not at all when that has passed) and takes
  // the key out of the queue. Never replaces an artifact.
  absl::Status CommitFailed(Entry entry, absl::optional<StagedContent> log);
  // Clears a remembered failure. NOT_FOUND: none is remembered.
  absl::Status ForgetFailure(const Key& key);

  // --- The queue

  // Keeps the graph and the compile, durably: it survives a restart from here on. With `graph`
  // empty, a graph of that digest must be kept already.
  absl::Status Enqueue(const QueuedCompile& compile, absl::optional<StagedContent> graph);
  // Notes another attempt.
  absl::Status UpdateQueued(const QueuedCompile& compile);
  absl::Status Dequeue(const Key& key);
  absl::StatusOr<std::vector<QueuedCompile>> LoadQueue() const;

  // --- Bundles and use

  absl::Status RecordInBundle(absl::string_view bundle, absl::Span<const Key> keys);
  absl::StatusOr<std::vector<BundleSummary>> ListBundles() const;
  // By key. NOT_FOUND: no such bundle.
  absl::StatusOr<std::vector<BundleKey>> GetBundle(absl::string_view bundle) const;
  absl::StatusOr<std::vector<std::string>> BundlesOf(const Key& key) const;
  // Remembers in memory that a key was used; written in batches.
  void NoteUse(const Key& key);
  // The key of a stock cache module ("MODULE_x+y") under this toolchain version, and back.
  absl::Status RecordNative(absl::string_view toolchain_version, absl::string_view module,
                            const Key& key);

  absl::StatusOr<StoreCounts> Count() const;

 private:
  struct Parts;
  explicit Store(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace neffcache
