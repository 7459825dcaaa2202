#include "server/store/near_entry.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"

namespace neffcache {
namespace {

constexpr int kSameGraph = 10'000;
constexpr int kSameSkeleton = 5'000;
constexpr int kAllInstructions = 1'000;  // Shared in computations of equal content.
constexpr int kSameName = 300;
constexpr int kSameSize = 200;  // Of graphs of one name.
constexpr int kSameSignature = 100;
// Of these alone nothing is like anything.
constexpr int kSameAttributes = 5;
constexpr int kSameToolchain = 20;
constexpr int kSameOptions = 10;

// Less than this in common is chance: every graph adds and multiplies.
constexpr int kLeastShared = kAllInstructions / 10;

int InCommon(const GraphParts& a, const GraphParts& b) {
  absl::flat_hash_map<Digest, uint64_t> computations;
  uint64_t all_a = 0;
  for (const ComputationPart& part : a.computations) {
    ++computations[part.content];
    all_a += part.instructions;
  }
  uint64_t all_b = 0;
  uint64_t shared = 0;
  for (const ComputationPart& part : b.computations) {
    all_b += part.instructions;
    const auto found = computations.find(part.content);
    if (found == computations.end() || found->second == 0) continue;
    --found->second;
    shared += part.instructions;
  }
  const uint64_t all = std::max({all_a, all_b, uint64_t{1}});
  const int common =
      static_cast<int>(static_cast<double>(shared) / static_cast<double>(all) * kAllInstructions);
  return common < kLeastShared ? 0 : common;
}

int SimilarSize(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return 0;
  return static_cast<int>(static_cast<double>(std::min(a, b)) /
                          static_cast<double>(std::max(a, b)) * kSameSize);
}

int LikenessOfGraphs(const NearQuery& query, const NearEntry& near) {
  const GraphRecord& graph = near.entry.graph;
  int likeness = query.material.fingerprint == near.entry.material.fingerprint ? kSameGraph : 0;
  const absl::string_view name = NameStem(query.graph_name);
  if (!name.empty() && name == NameStem(graph.name)) {
    likeness += kSameName + SimilarSize(query.instructions, graph.instructions);
  }
  if (!query.parts.has_value() || !near.parts.has_value()) return likeness;
  if (query.parts->skeleton == near.parts->skeleton) likeness += kSameSkeleton;
  if (query.parts->signature == near.parts->signature) likeness += kSameSignature;
  return likeness + InCommon(*query.parts, *near.parts);
}

}  // namespace

int Likeness(const NearQuery& query, const NearEntry& near) {
  int likeness = LikenessOfGraphs(query, near);
  if (likeness == 0) return 0;
  if (query.parts.has_value() && near.parts.has_value() &&
      query.parts->attributes == near.parts->attributes) {
    likeness += kSameAttributes;
  }
  if (query.material.toolchain == near.entry.material.toolchain) likeness += kSameToolchain;
  if (query.material.options == near.entry.material.options) likeness += kSameOptions;
  return likeness;
}

absl::string_view NameStem(absl::string_view graph_name) {
  size_t size = graph_name.size();
  const auto is_number = [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.' || c == '_';
  };
  while (size > 0 && is_number(graph_name[size - 1])) --size;
  return graph_name.substr(0, size);
}

}  // namespace neffcache
