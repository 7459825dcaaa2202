#include "server/store/store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/artifacts.h"
#include "server/store/bundle_table.h"
#include "server/store/commits.h"
#include "server/store/compile_queue.h"
#include "server/store/content_files.h"
#include "server/store/counters.h"
#include "server/store/database.h"
#include "server/store/entries.h"
#include "server/store/index_rebuild.h"
#include "server/store/kept_graphs.h"
#include "server/store/near_index.h"
#include "server/store/ready_table.h"
#include "server/store/record_files.h"
#include "server/store/recorded_entries.h"
#include "server/store/row_keys.h"
#include "server/store/space_guard.h"
#include "server/store/store_directory.h"
#include "server/store/turns.h"
#include "server/store/usage_batch.h"

namespace neffcache {
namespace {

// Expired failures that opening a store deletes; more go with later commits.
constexpr size_t kPurgeAtOpen = 10'000;

std::function<void(absl::string_view)> OrNothing(std::function<void(absl::string_view)> on_step) {
  if (on_step) return on_step;
  return [](absl::string_view) {};
}

}  // namespace

// In the order of their dependence.
struct Store::Parts {
  Parts(const StoreOptions& opened_with, StoreDirectory opened)
      : options(opened_with),
        directory(std::move(opened)),
        guard(directory.layout().data_dir(), directory.layout().db_dir(), options.min_free_bytes),
        files(directory.layout(), guard, options.inline_limit),
        records(directory.layout()),
        entries(database(), ready, options.clock),
        artifacts(database(), files, records, ready, options.clock),
        graphs(database(), files),
        bundles(database(), entries, options.clock),
        queue(database(), graphs, keys, OrNothing(options.on_step)),
        recorded({database(), files, records, graphs, artifacts, bundles}),
        commits({database(), files, records, entries, bundles, artifacts, recorded, keys,
                 options.clock, OrNothing(options.on_step)}),
        usage(database(), options.clock),
        near(database(), entries, keys, options.clock) {}

  Database& database() { return directory.database(); }

  const StoreOptions options;
  StoreDirectory directory;
  SpaceGuard guard;
  ContentFiles files;
  RecordFiles records;
  Turns<Key> keys;
  ReadyTable ready;
  Entries entries;
  Artifacts artifacts;
  KeptGraphs graphs;
  BundleTable bundles;
  CompileQueue queue;
  RecordedEntries recorded;
  Commits commits;
  UsageBatch usage;
  NearIndex near;
};

Store::Store(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Store::~Store() = default;

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const StoreOptions& options) {
  ASSIGN_OR_RETURN(StoreDirectory directory, StoreDirectory::Open(options));
  auto parts = std::make_unique<Parts>(options, std::move(directory));
  // A full disk does not keep a store from serving.
  parts->commits.PurgeExpired(kPurgeAtOpen).IgnoreError();
  return std::unique_ptr<Store>(new Store(std::move(parts)));
}

absl::StatusOr<Entry> Store::Find(const Key& key) const {
  ASSIGN_OR_RETURN(absl::optional<Entry> entry, parts_->entries.Find(key));
  if (entry.has_value()) return *std::move(entry);
  return absl::NotFoundError(absl::StrCat("finding ", key.Hex(), ": nothing is known"));
}

absl::StatusOr<std::vector<absl::optional<Entry>>> Store::Find(absl::Span<const Key> keys) const {
  return parts_->entries.Find(keys);
}

std::vector<absl::optional<ReadyState>> Store::FindReadyInMemory(absl::Span<const Key> keys) const {
  return parts_->entries.FindReadyInMemory(keys);
}

absl::StatusOr<Entry> Store::Recall(const Key& key) {
  ASSIGN_OR_RETURN(absl::optional<Entry> entry, parts_->commits.Recall(key));
  if (entry.has_value()) return *std::move(entry);
  return absl::NotFoundError(absl::StrCat("recalling ", key.Hex(), ": it has no record"));
}

absl::StatusOr<Key> Store::ResolvePrefix(absl::string_view prefix) const {
  return parts_->entries.ResolvePrefix(prefix);
}

absl::Status Store::ForEachEntry(absl::FunctionRef<bool(const Entry&)> visit) const {
  return parts_->entries.ForEach(visit);
}

absl::StatusOr<GraphRecord> Store::FindGraph(const Fingerprint& fingerprint) const {
  return parts_->graphs.Find(fingerprint);
}

absl::Status Store::CheckGraph(const GraphRecord& graph) const {
  return parts_->graphs.Check(graph);
}

absl::Status Store::ForgetGraph(const Digest& graph) {
  return parts_->graphs.Forget(graph);
}

absl::StatusOr<ContentWriter> Store::Stage(ContentKind kind) {
  return parts_->files.Stage(kind);
}

absl::StatusOr<ContentReader> Store::OpenContent(ContentKind kind, const Digest& digest) const {
  if (kind == ContentKind::kArtifact) return parts_->artifacts.Open(digest);
  return parts_->files.OpenCompressed(digest);
}

absl::Duration Store::CompileTimeOf(const Digest& artifact) const {
  return parts_->artifacts.CompileTimeOf(artifact);
}

absl::Status Store::Quarantine(const Digest& artifact) {
  return parts_->artifacts.Quarantine(artifact);
}

std::vector<Entry> Store::TakeQuarantined() {
  return parts_->artifacts.TakeQuarantined();
}

absl::StatusOr<Store::Committed> Store::CommitReady(Entry entry, StagedContent artifact,
                                                    absl::optional<StagedContent> log) {
  ASSIGN_OR_RETURN(absl::optional<Entry> earlier,
                   parts_->commits.CommitReady(entry, std::move(artifact), std::move(log)));
  if (earlier.has_value()) return Committed{*std::move(earlier), false};
  return Committed{std::move(entry), true};
}

absl::Status Store::CommitFailed(Entry entry, absl::optional<StagedContent> log) {
  return parts_->commits.CommitFailed(std::move(entry), std::move(log));
}

absl::Status Store::ForgetFailure(const Key& key) {
  return parts_->commits.ForgetFailure(key);
}

absl::Status Store::Enqueue(const QueuedCompile& compile, absl::optional<StagedContent> graph) {
  return parts_->queue.Enqueue(compile, std::move(graph));
}

absl::Status Store::UpdateQueued(const QueuedCompile& compile) {
  return parts_->queue.Update(compile);
}

absl::Status Store::Dequeue(const Key& key) {
  return parts_->queue.Dequeue(key);
}

absl::StatusOr<std::vector<QueuedCompile>> Store::LoadQueue() {
  // A daemon loads it at its start, and does not start without it.
  absl::StatusOr<std::vector<QueuedCompile>> queue = parts_->queue.Load();
  if (!queue.ok()) return StoreDirectory::Advise(parts_->options, queue.status());
  return queue;
}

absl::Status Store::RecordInBundle(absl::string_view bundle, absl::Span<const Key> keys) {
  return parts_->bundles.Record(bundle, keys);
}

absl::StatusOr<std::vector<BundleSummary>> Store::ListBundles() const {
  return parts_->bundles.List();
}

absl::StatusOr<std::vector<BundleKey>> Store::GetBundle(absl::string_view bundle) const {
  return parts_->bundles.Get(bundle);
}

absl::StatusOr<std::vector<std::string>> Store::BundlesOf(const Key& key) const {
  return parts_->bundles.Of(key);
}

void Store::NoteUse(const Key& key) {
  parts_->usage.Note(key);
}

absl::StatusOr<KeyUse> Store::UseOf(const Key& key) const {
  return parts_->usage.Find(key);
}

absl::Status Store::RecordNative(absl::string_view toolchain_version, absl::string_view module,
                                 const Key& key) {
  RETURN_IF_ERROR(CheckName("the toolchain's version", toolchain_version));
  RETURN_IF_ERROR(CheckName("the module's name", module));
  Batch batch = parts_->database().NewBatch();
  batch.Put(Column::kNative, NativeRow(toolchain_version, module), key.bytes());
  return parts_->database().Write(std::move(batch), Durability::kBuffered);
}

absl::StatusOr<Key> Store::FindNative(absl::string_view toolchain_version,
                                      absl::string_view module) const {
  ASSIGN_OR_RETURN(const absl::optional<std::string> row,
                   parts_->database().Get(Column::kNative, NativeRow(toolchain_version, module)));
  if (row.has_value()) return KeyAtEnd(*row);
  return absl::NotFoundError(
      absl::StrCat("finding stock module ", module, ": no key is known for it"));
}

absl::Status Store::IndexParts(const Key& key, const absl::optional<GraphParts>& parts) {
  return parts_->near.Add(key, parts);
}

absl::StatusOr<std::vector<NearEntry>> Store::Nearest(const NearQuery& query) const {
  return parts_->near.Nearest(query);
}

absl::Status Store::RecordMiss(const Key& key, const Miss& miss) {
  return parts_->near.RecordMiss(key, miss);
}

absl::StatusOr<Miss> Store::FindMiss(const Key& key) const {
  return parts_->near.FindMiss(key);
}

std::vector<absl::optional<Miss>> Store::FindMisses(absl::Span<const Key> keys) const {
  return parts_->near.FindMisses(keys);
}

absl::StatusOr<StoreCounts> Store::Count() const {
  const Database& database = parts_->database();
  StoreCounts counts;
  ASSIGN_OR_RETURN(counts.entries_ready, database.Counter(kReadyCounter));
  ASSIGN_OR_RETURN(counts.artifacts, database.Counter(kArtifactCounter));
  ASSIGN_OR_RETURN(counts.artifact_bytes, database.Counter(kArtifactBytesCounter));
  ASSIGN_OR_RETURN(counts.entries_failed, parts_->entries.CountFailed());
  counts.damaged = parts_->artifacts.damaged() + parts_->graphs.damaged() +
                   parts_->queue.damaged() + database.damaged();
  return counts;
}

absl::StatusOr<RebuildCounts> Store::RebuildIndex() {
  Parts& parts = *parts_;
  return IndexRebuild({parts.database(), parts.records, parts.entries, parts.recorded, parts.keys})
      .Run();
}

}  // namespace neffcache
