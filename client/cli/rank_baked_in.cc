#include "client/cli/rank_baked_in.h"

#include <map>
#include <utility>

#include "client/identified_spec.h"
#include "graph/parts.h"

namespace neffcache::cli {
namespace {

constexpr uint64_t kMostGraphs = 64;
constexpr uint64_t kMostBytes = uint64_t{512} << 20;

struct Loaded {
  const RankCandidate* candidate = nullptr;
  std::string bytes;
};

// The candidates that may be of one skeleton, each fingerprint once.
std::map<uint64_t, std::map<std::string, const RankCandidate*>> BySize(
    const std::vector<RankCandidate>& candidates) {
  std::map<uint64_t, std::map<std::string, const RankCandidate*>> by_size;
  for (const RankCandidate& candidate : candidates) {
    if (candidate.instructions == 0) continue;
    by_size[candidate.instructions].try_emplace(ToString(candidate.fingerprint), &candidate);
  }
  return by_size;
}

void AddGroup(const std::vector<Loaded>& loaded, RankSearch& search) {
  if (loaded.size() < 2) return;
  RankGroup group;
  std::vector<absl::string_view> graphs;
  for (const Loaded& one : loaded) {
    group.names.push_back(one.candidate->name);
    graphs.push_back(one.bytes);
  }
  absl::StatusOr<RankBakedIn> baked_in =
      ExplainRankBakedIn(graphs, OptionsOfHost(GraphOrder::kCanonical));
  if (!baked_in.ok() || baked_in->constants.empty()) return;
  group.baked_in = *std::move(baked_in);
  search.groups.push_back(std::move(group));
}

}  // namespace

RankSearch FindRanksBakedIn(const std::vector<RankCandidate>& candidates) {
  RankSearch search;
  uint64_t bytes = 0;
  for (const auto& [instructions, by_fingerprint] : BySize(candidates)) {
    if (by_fingerprint.size() < 2) continue;
    std::map<Digest, std::vector<Loaded>> by_skeleton;
    for (const auto& [fingerprint, candidate] : by_fingerprint) {
      if (search.read == kMostGraphs || bytes > kMostBytes) {
        ++search.skipped;
        continue;
      }
      absl::StatusOr<std::string> graph = candidate->read();
      if (!graph.ok()) {
        ++search.skipped;
        continue;
      }
      ++search.read;
      bytes += graph->size();
      const absl::StatusOr<GraphParts> parts =
          PartsOfGraph(*graph, OptionsOfHost(GraphOrder::kCanonical));
      if (parts.ok()) by_skeleton[parts->skeleton].push_back({candidate, *std::move(graph)});
    }
    for (const auto& [skeleton, loaded] : by_skeleton) AddGroup(loaded, search);
  }
  return search;
}

}  // namespace neffcache::cli
