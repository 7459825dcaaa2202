#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/dropped_data.h"
#include "graph/encoding.h"
#include "graph/hlo_index.h"
#include "graph/message_encoder.h"
#include "graph/native_kernel.h"
#include "graph/numbering.h"

namespace neffcache {

// What stands for operands and callees.
enum class References {
  kPositions,       // The description itself.
  kContentDigests,  // Positions of instructions, digests of callees: while those have no position.
  kOwnFieldsOnly,   // Counts alone, while instructions have no position.
};

// Writes computations and instructions in canonical form. False where the encoder failed; its
// error() says why. Not thread-safe. With kPositions it also notes what is left out.
class ComputationWriter {
 public:
  ComputationWriter(const HloIndex& index, const Numbering& numbering, MessageEncoder& encoder,
                    NativeKernels& kernels, DroppedData& dropped)
      : index_(index),
        numbering_(numbering),
        encoder_(encoder),
        kernels_(kernels),
        dropped_(dropped) {}

  // Moves what it wrote into `hash` from time to time.
  bool WriteComputation(const ComputationRecord& computation, References references, Encoding* out,
                        Sha256& hash);
  bool WriteInstruction(const ComputationRecord& computation, const InstructionRecord& instruction,
                        References references, Encoding* out);

  // Notes the parameter names in a ProgramShapeProto.
  void NoteParameterNames(absl::string_view program_shape);

 private:
  bool WriteReferences(const ComputationRecord& computation, const InstructionRecord& instruction,
                       uint32_t number, References references, Encoding* out);
  bool WriteBackendConfig(absl::string_view bytes, const InstructionRecord& instruction,
                          Encoding* out);
  bool SubstitutePayload(MessageEncoder::Fields* fields);
  bool NoteDropped(const ComputationRecord& computation, const InstructionRecord& instruction,
                   MessageEncoder::Fields group);

  const HloIndex& index_;
  const Numbering& numbering_;
  MessageEncoder& encoder_;
  NativeKernels& kernels_;
  DroppedData& dropped_;
  std::vector<uint32_t> controls_;
};

}  // namespace neffcache
