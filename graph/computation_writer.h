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

// A name without the running numbers at its end: "shmap_body_1.25" is "shmap_body".
absl::string_view WithoutRunningNumber(absl::string_view name);

// What a computation's name means to compilers, without the running numbers at its end; empty for
// nearly all names.
absl::string_view MarkedName(absl::string_view name);

// True for a `constant` whose shape is an array of one element.
bool IsScalarConstant(const InstructionRecord& instruction);

// What of constants is written.
enum class Constants {
  kAll,
  kMaskScalars,  // All but the values of constants of one element.
};

// Writes computations and instructions in canonical form. False where the encoder failed; its
// error() says why. Not thread-safe. With kPositions it also notes what is left out.
class ComputationWriter {
 public:
  ComputationWriter(const HloIndex& index, const Numbering& numbering, MessageEncoder& encoder,
                    NativeKernels& kernels, DroppedData& dropped,
                    Constants constants = Constants::kAll)
      : constants_(constants),
        index_(index),
        numbering_(numbering),
        encoder_(encoder),
        kernels_(kernels),
        dropped_(dropped) {}

  // Moves what it wrote into `hash` from time to time.
  bool WriteComputation(const ComputationRecord& computation, References references, Encoding* out,
                        Sha256& hash);
  bool WriteInstruction(const ComputationRecord& computation, const InstructionRecord& instruction,
                        References references, Encoding* out);

  // The two halves of WriteInstruction: reading the fields, which are to be released, and writing
  // one group of them.
  bool ReadInstruction(const InstructionRecord& instruction, MessageEncoder::Fields* fields);
  bool WriteGroup(const ComputationRecord& computation, const InstructionRecord& instruction,
                  MessageEncoder::Fields group, References references, Encoding* out);

  // Notes the parameter names in a ProgramShapeProto.
  void NoteParameterNames(absl::string_view program_shape);

 private:
  bool WriteReferences(const ComputationRecord& computation, const InstructionRecord& instruction,
                       uint32_t number, References references, Encoding* out);
  bool WriteBackendConfig(absl::string_view bytes, const InstructionRecord& instruction,
                          Encoding* out);
  bool WriteMasked(MessageEncoder::Fields literal, Encoding* out);
  bool SubstitutePayload(MessageEncoder::Fields* fields);
  bool NoteDropped(const ComputationRecord& computation, const InstructionRecord& instruction,
                   MessageEncoder::Fields group);

  const Constants constants_;
  const HloIndex& index_;
  const Numbering& numbering_;
  MessageEncoder& encoder_;
  NativeKernels& kernels_;
  DroppedData& dropped_;
  std::vector<uint32_t> controls_;
};

}  // namespace neffcache
