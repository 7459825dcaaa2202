#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/encoding.h"
#include "graph/hlo_index.h"
#include "graph/schedule.h"
#include "io/digest.h"

namespace neffcache {

class ComputationWriter;

// Which position each computation, and each instruction within its computation, has in the
// description.
struct Numbering {
  // By HloIndex::instructions: the offset written at a position, and the position of an offset.
  std::vector<uint32_t> at_position;
  std::vector<uint32_t> position;
  // By HloIndex::computations.
  std::vector<uint32_t> computation_at;
  std::vector<uint32_t> computation_position;
  // Of a computation's content, where something had to be compared; all zeros elsewhere.
  std::vector<Digest> content;

  // Writes the length of a list of a computation's offsets, and their positions.
  void PutSequence(const ComputationRecord& computation, absl::Span<const uint32_t> offsets,
                   Encoding* out) const;
};

// As written. INVALID_ARGUMENT for cycles among instructions or computations.
absl::StatusOr<Numbering> WrittenNumbering(const HloIndex& index);

// By structure, the same whatever the order on the wire. INVALID_ARGUMENT for cycles. `numbering`
// is the one that `writer` reads; it is filled step by step, since telling equal things apart needs
// descriptions of what is numbered already. A failure of the writer shows in its encoder only.
absl::Status NumberCanonically(HloIndex& index, const Schedule& schedule, ComputationWriter& writer,
                               Numbering* numbering);

}  // namespace neffcache
