#include "server/store/near_index.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "io/utf8.h"
#include "neffcache/v1/store.pb.h"
#include "server/store/near_codec.h"
#include "server/store/row_keys.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

constexpr size_t kMostNear = 4;
// Taken from each list of entries with an equal part, newest first.
constexpr size_t kNewestOfPart = 8;
constexpr size_t kNewestOfComputation = 3;
constexpr size_t kIndexedComputations = 32;
// Smaller computations, such as the sum of two numbers for a reduction, are in every graph.
constexpr uint64_t kLeastInstructions = 4;

// The contents by which a graph's computations are found: the largest, each once.
std::vector<Digest> IndexedComputations(const GraphParts& parts) {
  std::vector<const ComputationPart*> largest;
  for (const ComputationPart& part : parts.computations) {
    if (part.instructions >= kLeastInstructions) largest.push_back(&part);
  }
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto* a, const auto* b) { return a->instructions > b->instructions; });
  std::vector<Digest> contents;
  absl::flat_hash_set<Digest> seen;
  for (const ComputationPart* part : largest) {
    if (contents.size() == kIndexedComputations) break;
    if (seen.insert(part->content).second) contents.push_back(part->content);
  }
  return contents;
}

// Under which prefixes of column kParts the entry is found.
std::vector<std::string> PrefixesOf(const KeptParts& kept) {
  std::vector<std::string> prefixes = {NearPrefix(NearBy::kGraph, kept.fingerprint)};
  if (!kept.graph_name.empty()) {
    prefixes.push_back(NearPrefix(NearBy::kName, Sha256Of(kept.graph_name)));
  }
  if (!kept.parts.has_value()) return prefixes;
  prefixes.push_back(NearPrefix(NearBy::kSkeleton, kept.parts->skeleton));
  prefixes.push_back(NearPrefix(NearBy::kSignature, kept.parts->signature));
  for (const Digest& content : IndexedComputations(*kept.parts)) {
    prefixes.push_back(NearPrefix(NearBy::kComputation, content));
  }
  return prefixes;
}

}  // namespace

NearIndex::NearIndex(Database& database, const Entries& entries, Turns<Key>& keys,
                     std::function<absl::Time()> clock)
    : database_(database), entries_(entries), keys_(keys), clock_(std::move(clock)) {}

absl::Status NearIndex::Add(const Key& key, const absl::optional<GraphParts>& parts) {
  const auto turn = keys_.Take(key);
  ASSIGN_OR_RETURN(const absl::optional<Entry> entry, entries_.Find(key));
  if (!entry.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("indexing the parts of ", key.Hex(), ": it has no entry"));
  }
  KeptParts kept;
  kept.fingerprint = entry->material.fingerprint.digest;
  kept.graph_name = ToUtf8(NameStem(entry->graph.name));
  kept.indexed = clock_();
  if (parts.has_value()) kept.parts = LargestParts(*parts, kMaxPartComputations);
  Batch batch = database_.NewBatch();
  RemoveParts(database_, key, batch);
  batch.Put(Column::kParts, PartsRow(key), EncodeKeptParts(kept));
  for (const std::string& prefix : PrefixesOf(kept)) {
    batch.Put(Column::kParts, NearRow(prefix, kept.indexed, key), "");
  }
  return database_.Write(std::move(batch), Durability::kBuffered);
}

void NearIndex::RemoveParts(const Database& database, const Key& key, Batch& batch) {
  const auto row = database.Get(Column::kParts, PartsRow(key));
  if (!row.ok() || !row->has_value()) return;
  if (const absl::StatusOr<KeptParts> kept = DecodeKeptParts(**row); kept.ok()) {
    for (const std::string& prefix : PrefixesOf(*kept)) {
      batch.Delete(Column::kParts, NearRow(prefix, kept->indexed, key));
    }
  }
  batch.Delete(Column::kParts, PartsRow(key));
}

void NearIndex::Remove(const Database& database, const Key& key, Batch& batch) {
  RemoveParts(database, key, batch);
  batch.Delete(Column::kMisses, key.bytes());
}

void NearIndex::AddNewest(const std::string& prefix, size_t most, std::vector<Key>& keys) const {
  size_t found = 0;
  // What cannot be read finds nothing.
  database_
      .Scan(Column::kParts, prefix,
            [&](absl::string_view row, absl::string_view) {
              if (const absl::StatusOr<Key> key = KeyAtEnd(row); key.ok()) keys.push_back(*key);
              return ++found < most;
            })
      .IgnoreError();
}

std::vector<Key> NearIndex::Candidates(const NearQuery& query) const {
  KeptParts wanted;
  wanted.fingerprint = query.material.fingerprint.digest;
  wanted.graph_name = ToUtf8(NameStem(query.graph_name));
  wanted.parts = query.parts;
  std::vector<Key> keys;
  for (const std::string& prefix : PrefixesOf(wanted)) {
    const bool computation = prefix[0] == static_cast<char>(NearBy::kComputation);
    AddNewest(prefix, computation ? kNewestOfComputation : kNewestOfPart, keys);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  keys.erase(std::remove(keys.begin(), keys.end(), query.key), keys.end());
  return keys;
}

absl::StatusOr<std::vector<NearEntry>> NearIndex::Nearest(const NearQuery& given) const {
  NearQuery query = given;
  if (query.parts.has_value())
    query.parts = LargestParts(*std::move(query.parts), kMaxPartComputations);
  const std::vector<Key> candidates = Candidates(query);
  ASSIGN_OR_RETURN(std::vector<absl::optional<Entry>> entries, entries_.Find(candidates));
  std::vector<std::pair<int, NearEntry>> ranked;
  for (absl::optional<Entry>& entry : entries) {
    if (!entry.has_value()) continue;  // Gone since.
    NearEntry near{*std::move(entry), absl::nullopt};
    const auto row = database_.Get(Column::kParts, PartsRow(near.entry.key));
    if (!row.ok() || !row->has_value()) continue;
    absl::StatusOr<KeptParts> kept = DecodeKeptParts(**row);
    if (!kept.ok()) continue;
    near.parts = std::move(kept->parts);
    if (const int likeness = Likeness(query, near); likeness > 0) {
      ranked.emplace_back(likeness, std::move(near));
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first > b.first;
    return a.second.entry.created > b.second.entry.created;
  });
  std::vector<NearEntry> nearest;
  for (auto& [likeness, near] : ranked) {
    if (nearest.size() == kMostNear) break;
    nearest.push_back(std::move(near));
  }
  return nearest;
}

absl::Status NearIndex::RecordMiss(const Key& key, const Miss& miss) {
  const auto turn = keys_.Take(key);
  ASSIGN_OR_RETURN(const absl::optional<std::string> queued,
                   database_.Get(Column::kQueue, key.bytes()));
  if (!queued.has_value()) {
    ASSIGN_OR_RETURN(const absl::optional<Entry> entry, entries_.Find(key));
    if (!entry.has_value()) {
      return absl::NotFoundError(
          absl::StrCat("recording why ", key.Hex(), " is compiled: it no longer is"));
    }
  }
  Batch batch = database_.NewBatch();
  batch.Put(Column::kMisses, key.bytes(), EncodeMiss(miss));
  return database_.Write(std::move(batch), Durability::kBuffered);
}

absl::StatusOr<Miss> NearIndex::FindMiss(const Key& key) const {
  ASSIGN_OR_RETURN(const absl::optional<std::string> row,
                   database_.Get(Column::kMisses, key.bytes()));
  if (row.has_value()) return DecodeMiss(*row);
  return absl::NotFoundError(
      absl::StrCat("finding why ", key.Hex(), " was compiled: nothing is recorded"));
}

std::vector<absl::optional<Miss>> NearIndex::FindMisses(absl::Span<const Key> keys) const {
  std::vector<absl::string_view> rows;
  rows.reserve(keys.size());
  for (const Key& key : keys) rows.push_back(key.bytes());
  std::vector<absl::optional<Miss>> misses(keys.size());
  // What cannot be read is not known.
  database_
      .MultiGet(Column::kMisses, rows,
                [&](size_t i, absl::string_view row) {
                  if (absl::StatusOr<Miss> miss = DecodeMiss(row); miss.ok()) {
                    misses[i] = *std::move(miss);
                  }
                })
      .IgnoreError();
  return misses;
}

}  // namespace neffcache
