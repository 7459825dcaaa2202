#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/explain.h"
#include "graph/fingerprint.h"

namespace neffcache::cli {

// A graph that may have its rank baked in.
struct RankCandidate {
  std::string name;  // A path or a key, for people.
  Fingerprint fingerprint;
  uint64_t instructions = 0;                          // 0: no HLO.
  std::function<absl::StatusOr<std::string>()> read;  // Its bytes.
};

// Graphs that are the same but for scalar constants.
struct RankGroup {
  std::vector<std::string> names;
  RankBakedIn baked_in;
};

struct RankSearch {
  std::vector<RankGroup> groups;
  uint64_t read = 0;     // Graphs looked into.
  uint64_t skipped = 0;  // For the bounds, or unreadable.
};

// Looks into graphs that have as many instructions as another one with another fingerprint, at most
// 64 of them and 512 MiB in all.
RankSearch FindRanksBakedIn(const std::vector<RankCandidate>& candidates);

}  // namespace neffcache::cli
