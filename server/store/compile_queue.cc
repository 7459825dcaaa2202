#include "server/store/compile_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/row_codec.h"
#include "server/store/row_keys.h"

namespace neffcache {

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
  return database_.Write(std::move(batch), Durability::kSynced);
}

absl::StatusOr<std::vector<QueuedCompile>> CompileQueue::Load() const {
  std::vector<QueuedCompile> compiles;
  absl::Status bad_row;
  RETURN_IF_ERROR(
      database_.Scan(Column::kQueue, "", [&](absl::string_view row, absl::string_view value) {
        const absl::StatusOr<Key> key = KeyAtEnd(row);
        bad_row.Update(key.status());
        if (!key.ok()) return true;
        absl::StatusOr<QueuedCompile> compile = DecodeQueued(*key, value);
        bad_row.Update(compile.status());
        if (compile.ok()) compiles.push_back(*std::move(compile));
        return true;
      }));
  RETURN_IF_ERROR(bad_row);
  std::stable_sort(compiles.begin(), compiles.end(),
                   [](const auto& a, const auto& b) { return a.queued < b.queued; });
  return compiles;
}

}  // namespace neffcache
