#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/explain.h"
#include "server/store/near_entry.h"

namespace neffcache {

// No entry is like the key.
inline constexpr char kNothingNear[] = "no entry is like it";

// "nearest 0123456789ab (bert-train): flag --optlevel 1 → 2; parameter 3: …": at most 600 bytes,
// one line. `graphs` says in what the graphs differ; empty where they are the same.
std::string ExplainNearest(const NearEntry& nearest, const std::vector<Difference>& material,
                           absl::string_view graphs);

}  // namespace neffcache
