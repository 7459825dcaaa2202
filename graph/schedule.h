#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/hlo_index.h"

namespace neffcache {

// The order in which a scheduled module runs the instructions of each computation.
struct Schedule {
  bool present = false;  // Without sequences, too, a schedule says something.
  // Offsets of instructions by computation, both as in HloIndex. Computations may be missing.
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> sequences;

  // Null for a computation without a sequence.
  const std::vector<uint32_t>* Of(uint32_t computation) const {
    const auto found = sequences.find(computation);
    return found == sequences.end() ? nullptr : &found->second;
  }
};

// INVALID_ARGUMENT: it is damaged, names what does not exist, or holds unknown fields.
absl::StatusOr<Schedule> ReadSchedule(const HloIndex& index);

}  // namespace neffcache
