#include "server/misses/miss_explainer.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "io/zstd.h"
#include "server/misses/explanation_text.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

constexpr int kLowPriority = 10;
constexpr size_t kKnownParts = 64;

// The bytes of a kept graph.
absl::StatusOr<std::string> ReadGraph(const Store& store, const GraphRecord& graph) {
  ASSIGN_OR_RETURN(const ContentReader reader,
                   store.OpenContent(ContentKind::kGraph, graph.digest));
  ZstdDecompressor decompressor(graph.size);
  std::string bytes;
  bytes.reserve(graph.size);
  const auto append = [&bytes](absl::string_view piece) {
    bytes.append(piece.data(), piece.size());
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(reader.ForEachPiece(
      [&](absl::string_view piece) { return decompressor.Write(piece, append); }));
  RETURN_IF_ERROR(decompressor.Finish());
  return bytes;
}

}  // namespace

MissExplainer::MissExplainer(Store& store, MissExplainerOptions options)
    : store_(store), options_(std::move(options)), thread_([this] { Run(); }) {}

MissExplainer::~MissExplainer() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void MissExplainer::NoteMiss(const QueuedCompile& compile, absl::string_view reason) {
  Post([this, compile, reason = std::string(reason)] { ExplainMiss(compile, reason); });
}

void MissExplainer::NoteEntry(const Entry& entry) {
  // Not all of it: a failure's has the end of its log.
  Post([this, key = entry.key, fingerprint = entry.material.fingerprint, graph = entry.graph] {
    IndexEntry(key, fingerprint, graph);
  });
}

void MissExplainer::AwaitIdle() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &MissExplainer::Idle));
}

uint64_t MissExplainer::dropped() const {
  absl::MutexLock lock(&mutex_);
  return dropped_;
}

size_t MissExplainer::pending() const {
  absl::MutexLock lock(&mutex_);
  return tasks_.size();
}

void MissExplainer::Post(Task task) {
  absl::MutexLock lock(&mutex_);
  if (tasks_.size() < options_.max_pending) {
    tasks_.push_back(std::move(task));
  } else {
    ++dropped_;
  }
}

void MissExplainer::Run() {
  // Of this thread alone, on Linux. One that may not be nice explains all the same.
  setpriority(PRIO_PROCESS, 0, kLowPriority);
  absl::MutexLock lock(&mutex_);
  while (true) {
    mutex_.Await(absl::Condition(this, &MissExplainer::Due));
    if (stopping_) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    mutex_.Unlock();
    task();
    task = nullptr;
    mutex_.Lock();
    busy_ = false;
  }
}

void MissExplainer::ExplainMiss(const QueuedCompile& compile, const std::string& reason) {
  Miss miss;
  if (reason.empty()) {
    miss = Explain(compile);
  } else {
    miss.explanation = reason;
  }
  miss.explained = options_.clock();
  // Refused where the compile ended meanwhile and left no entry.
  store_.RecordMiss(compile.key, miss).IgnoreError();
  if (options_.on_explained) options_.on_explained(compile.key, miss);
}

Miss MissExplainer::Explain(const QueuedCompile& compile) {
  NearQuery query;
  query.key = compile.key;
  query.material = compile.material;
  query.graph_name = compile.graph.name;
  query.instructions = compile.graph.instructions;
  query.parts = PartsOf(compile.material.fingerprint, compile.graph);
  Miss miss;
  const absl::StatusOr<std::vector<NearEntry>> found = store_.Nearest(query);
  if (!found.ok()) {
    miss.explanation = absl::StrCat("unknown: ", found.status().message());
    return miss;
  }
  if (found->empty()) {
    miss.explanation = kNothingNear;
    return miss;
  }
  const NearEntry& nearest = found->front();
  miss.nearest = nearest.entry.key;
  miss.explanation =
      ExplainNearest(nearest, ExplainMaterial(nearest.entry.material, compile.material),
                     DescribeGraphs(nearest, compile, query.parts));
  return miss;
}

std::string MissExplainer::DescribeGraphs(const NearEntry& nearest, const QueuedCompile& compile,
                                          const absl::optional<GraphParts>& parts) {
  if (nearest.entry.material.fingerprint == compile.material.fingerprint) return "";
  const absl::optional<std::string> compared = CompareGraphs(nearest.entry.graph, compile.graph);
  if (compared.has_value()) return *compared;
  if (!nearest.parts.has_value() || !parts.has_value()) return "another graph";
  return DescribePartDifference(*nearest.parts, *parts);
}

bool MissExplainer::Comparable(const GraphRecord& graph) const {
  return !graph.digest.empty() && graph.size <= options_.compare_limit_bytes &&
         graph.instructions <= options_.compare_limit_instructions;
}

absl::optional<std::string> MissExplainer::CompareGraphs(const GraphRecord& before,
                                                         const GraphRecord& after) {
  if (!Comparable(before) || !Comparable(after)) return absl::nullopt;
  if (pending() > options_.compare_while_pending) return absl::nullopt;
  const absl::StatusOr<std::string> bytes_before = ReadGraph(store_, before);
  if (!bytes_before.ok()) return absl::nullopt;
  const absl::StatusOr<std::string> bytes_after = ReadGraph(store_, after);
  if (!bytes_after.ok()) return absl::nullopt;
  const absl::StatusOr<Explanation> explanation = options_.compare(*bytes_before, *bytes_after);
  if (!explanation.ok()) return absl::nullopt;
  std::string text = explanation->Summary();
  if (explanation->only_scalar_constants) {
    absl::StrAppend(&text, ": is a rank baked in?");  // Summary() ends with what differs.
  }
  return text;
}

absl::optional<GraphParts> MissExplainer::PartsOf(const Fingerprint& fingerprint,
                                                  const GraphRecord& graph) {
  if (graph.digest.empty() || graph.size > options_.parts_limit_bytes) return absl::nullopt;
  if (const auto known = known_parts_.find(fingerprint.digest); known != known_parts_.end()) {
    return known->second;
  }
  const absl::StatusOr<std::string> bytes = ReadGraph(store_, graph);
  if (!bytes.ok()) return absl::nullopt;
  absl::optional<GraphParts> parts;
  // What is no canonicalized HLO has none.
  if (absl::StatusOr<GraphParts> read = PartsOfGraph(*bytes); read.ok()) {
    parts = LargestParts(*std::move(read), kMaxPartComputations);
  }
  if (known_order_.size() == kKnownParts) {
    known_parts_.erase(known_order_.front());
    known_order_.pop_front();
  }
  known_order_.push_back(fingerprint.digest);
  return known_parts_[fingerprint.digest] = std::move(parts);
}

void MissExplainer::IndexEntry(const Key& key, const Fingerprint& fingerprint, GraphRecord graph) {
  if (graph.digest.empty()) {
    // Published without its graph, which another compile may have left here.
    absl::StatusOr<GraphRecord> kept = store_.FindGraph(fingerprint);
    if (kept.ok()) graph = *std::move(kept);
  }
  // An entry that is not found by its parts is no worse an entry.
  store_.IndexParts(key, PartsOf(fingerprint, graph)).IgnoreError();
}

}  // namespace neffcache
