#pragma once

#include <cstdint>
#include <vector>

#include "graph/explain/numbered_module.h"

namespace neffcache {

// A module's schedule, by canonical positions.
struct Schedule {
  explicit Schedule(const NumberedModule& module);

  bool present = false;
  // By HloIndex::computations: positions of instructions in their order; empty for those that are
  // not scheduled.
  std::vector<std::vector<uint32_t>> sequences;
};

}  // namespace neffcache
