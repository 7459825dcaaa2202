#include "server/store/compile_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/near_index.h"
#include "server/store/row_codec.h"
#include "server/store/row_keys.h"

namespace neffcache {
namespace {

absl::StatusOr<Key> KeyOfRow(absl::string_view row) {
  if (row.size() == Key::kSize) return KeyAtEnd(row);
  return absl::DataLossError(
      absl::StrCat("reading the queue: a row's key has ", row.size(), " bytes"));
}

absl::StatusOr<QueuedCompile> DecodeRow(absl::string_view row, absl::string_view value) {
  ASSIGN_OR_RETURN(const Key key, KeyOfRow(row));
  return DecodeQueued(key, value);
}

}  // namespace

CompileQueue::CompileQueue(Database& database, const KeptGraphs& graphs, Turns<Key>& keys,
                           std::function<void(absl::string_view)> on_step)
    : database_(database), graphs_(graphs), keys_(keys), on_step_(std::move(on_step)) {}

absl::Status CompileQueue::Enqueue(const QueuedCompile& compile,
                                   absl::optional<StagedContent> graph) {
  ASSIGN_OR_RETURN(const std::string row, EncodeQueued(compile));
  const auto turn = keys_.Take(compile.key);
  Batch batch = database_.NewBatch();
  RETURN_IF_ERROR(
      graphs_.Place(compile.material.fingerprint, compile.graph, std::move(graph), batch));
  on_step_("graph placed");
  batch.Put(Column::kQueue, compile.key.bytes(), row);
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kSynced));
  on_step_("queued");
  return absl::OkStatus();
}

absl::Status CompileQueue::Update(const QueuedCompile& compile) {
  ASSIGN_OR_RETURN(const std::string row, EncodeQueued(compile));
  const auto turn = keys_.Take(compile.key);
  ASSIGN_OR_RETURN(const absl::optional<std::string> present,
                   database_.Get(Column::kQueue, compile.key.bytes()));
  if (!present.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("updating compile ", compile.key.Hex(), ": it is not queued"));
  }
  Batch batch = database_.NewBatch();
  batch.Put(Column::kQueue, compile.key.bytes(), row);
  return database_.Write(std::move(batch), Durability::kSynced);
}

absl::Status CompileQueue::Dequeue(const Key& key) {
  const auto turn = keys_.Take(key);
  Batch batch = database_.NewBatch();
  batch.Delete(Column::kQueue, key.bytes());
  // Why it was to be compiled goes with a compile that leaves nothing.
  const auto entry = database_.Get(Column::kEntries, key.bytes());
  if (entry.ok() && !entry->has_value()) NearIndex::Remove(database_, key, batch);
  return database_.Write(std::move(batch), Durability::kSynced);
}

absl::StatusOr<std::vector<QueuedCompile>> CompileQueue::Load() {
  std::vector<QueuedCompile> compiles;
  std::vector<std::string> bad_rows;
  RETURN_IF_ERROR(
      database_.Scan(Column::kQueue, "", [&](absl::string_view row, absl::string_view value) {
        absl::StatusOr<QueuedCompile> compile = DecodeRow(row, value);
        if (compile.ok()) {
          compiles.push_back(*std::move(compile));
        } else {
          bad_rows.emplace_back(row);
        }
        return true;
      }));
  for (const std::string& row : bad_rows) RETURN_IF_ERROR(Drop(row));
  std::stable_sort(compiles.begin(), compiles.end(),
                   [](const auto& a, const auto& b) { return a.queued < b.queued; });
  return compiles;
}

absl::Status CompileQueue::Drop(const std::string& row) {
  absl::optional<Turns<Key>::Turn> turn;
  if (const absl::StatusOr<Key> key = KeyOfRow(row); key.ok()) turn.emplace(keys_.Take(*key));
  ASSIGN_OR_RETURN(const absl::optional<std::string> value, database_.Get(Column::kQueue, row));
  // Queued anew meanwhile.
  if (!value.has_value() || DecodeRow(row, *value).ok()) return absl::OkStatus();
  Batch batch = database_.NewBatch();
  batch.Delete(Column::kQueue, row);
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kSynced));
  ++damaged_;
  return absl::OkStatus();
}

}  // namespace neffcache
