#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/background_digests.h"
#include "graph/computation_writer.h"
#include "graph/dropped_data.h"
#include "graph/fingerprint.h"
#include "graph/hlo_index.h"
#include "graph/message_encoder.h"
#include "graph/native_kernel.h"
#include "graph/numbering.h"
#include "graph/schedule.h"

namespace neffcache {

// A module, indexed and numbered by structure, open for a look at its parts: what they are named by
// in descriptions, and the means to write them in canonical form.
//
// Not thread-safe. The module's bytes and the options must outlive it.
class NumberedModule {
 public:
  // INVALID_ARGUMENT: the module is malformed, or holds what cannot be renumbered.
  static absl::StatusOr<std::unique_ptr<NumberedModule>> Open(
      absl::string_view module, const IdentifyOptions& options,
      Constants constants = Constants::kAll);

  const HloIndex& index() const { return index_; }
  const Numbering& numbering() const { return numbering_; }
  MessageEncoder& encoder() { return encoder_; }
  ComputationWriter& writer() { return writer_; }

  const ComputationRecord& Entry() const { return index_.computations[index_.entry]; }
  // The instruction that has a position in its computation, and the reverse.
  const InstructionRecord& InstructionAt(const ComputationRecord& computation,
                                         uint32_t position) const {
    return index_
        .instructions[computation.first + numbering_.at_position[computation.first + position]];
  }
  uint32_t PositionOf(const ComputationRecord& computation, uint32_t offset) const {
    return numbering_.position[computation.first + offset];
  }

  const Schedule& schedule() const { return schedule_; }
  // Positions of instructions in the order of the schedule; none for a computation that has none.
  std::vector<uint32_t> ScheduledPositions(const ComputationRecord& computation) const;

  // Of a computation's content, with callees by content and without a schedule: equal wherever it
  // stands.
  const Digest& ContentOf(const ComputationRecord& computation) const {
    return numbering_.content[computation.index];
  }

  // The rows of the payload table that nothing known refers to, as they are part of a description.
  std::vector<uint32_t> UnreferencedPayloads();

 private:
  NumberedModule(HloIndex index, const IdentifyOptions& options, Constants constants);

  absl::Status DigestContents();
  absl::Status Failure() const;

  HloIndex index_;
  PayloadTable payloads_;
  BackgroundDigests long_strings_;
  MessageEncoder encoder_;
  Schedule schedule_;
  NativeKernels kernels_;
  Numbering numbering_;
  DroppedData dropped_{/*wanted=*/false};
  ComputationWriter writer_;
};

}  // namespace neffcache
