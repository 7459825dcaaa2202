#pragma once

#include <cstddef>
#include <vector>

#include "client/cli/console.h"
#include "graph/explain.h"

namespace neffcache::cli {

Json ToJson(const Difference& difference);

// Prints differences and sets "differences" and "omitted" of the document.
void PrintDifferences(const std::vector<Difference>& differences, uint64_t omitted,
                      Console& console);

// Constants that a rank may be baked into, as text and as an object of the document.
void PrintRank(const RankBakedIn& baked_in, Console& console);
Json ToJson(const RankBakedIn& baked_in);

}  // namespace neffcache::cli
