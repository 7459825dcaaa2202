#include "graph/explain/numbered_module.h"

#include <utility>

#include "absl/status/status.h"
#include "graph/encoding.h"
#include "io/status_macros.h"

namespace neffcache {

absl::StatusOr<std::unique_ptr<NumberedModule>> NumberedModule::Open(absl::string_view module,
                                                                     const IdentifyOptions& options,
                                                                     Constants constants) {
  ASSIGN_OR_RETURN(HloIndex index, IndexModule(module));
  if (!index.opaque_reason.empty()) return absl::InvalidArgumentError(index.opaque_reason);
  std::unique_ptr<NumberedModule> result(new NumberedModule(std::move(index), options, constants));
  ASSIGN_OR_RETURN(result->schedule_, ReadSchedule(result->index_));
  RETURN_IF_ERROR(
      NumberCanonically(result->index_, result->schedule_, result->writer_, &result->numbering_));
  RETURN_IF_ERROR(result->Failure());
  RETURN_IF_ERROR(result->DigestContents());
  return result;
}

NumberedModule::NumberedModule(HloIndex index, const IdentifyOptions& options, Constants constants)
    : index_(std::move(index)),
      payloads_{index_.payloads, std::vector<bool>(index_.payloads.size())},
      long_strings_(LongLiterals(index_)),
      encoder_(&payloads_, &long_strings_),
      kernels_(options),
      writer_(index_, numbering_, encoder_, kernels_, dropped_, constants) {}

absl::Status NumberedModule::Failure() const {
  return encoder_.error().empty() ? absl::OkStatus() : absl::InvalidArgumentError(encoder_.error());
}

absl::Status NumberedModule::DigestContents() {
  Encoding text;
  Sha256 hash;
  for (const uint32_t computation : numbering_.computation_at) {  // Callees first.
    if (!writer_.WriteComputation(index_.computations[computation], References::kContentDigests,
                                  &text, hash)) {
      return Failure();
    }
    text.FlushInto(hash, 0);
    numbering_.content[computation] = hash.Finish();
  }
  return absl::OkStatus();
}

std::vector<uint32_t> NumberedModule::ScheduledPositions(
    const ComputationRecord& computation) const {
  std::vector<uint32_t> positions;
  if (const std::vector<uint32_t>* const sequence = schedule_.Of(computation.index)) {
    for (const uint32_t offset : *sequence) positions.push_back(PositionOf(computation, offset));
  }
  return positions;
}

std::vector<uint32_t> NumberedModule::UnreferencedPayloads() {
  constexpr uint32_t kMetadata = 7;
  std::vector<uint32_t> rows;
  if (payloads_.rows.empty()) return rows;
  for (const InstructionRecord& instruction : index_.instructions) {
    const MessageSchema& schema = SchemaOf(HloMessage::kInstruction);
    MessageEncoder::Fields fields;
    if (!encoder_.Read(schema, instruction.bytes, &fields)) continue;
    for (size_t i = fields.begin; i < fields.end;) {
      const size_t next = encoder_.GroupEnd(i, fields.end);
      if (encoder_.At(i).number == kMetadata) encoder_.NoteMetadataPayloads({i, next});
      i = next;
    }
    encoder_.Release(fields);
  }
  for (uint32_t row = 0; row < payloads_.rows.size(); ++row) {
    if (!payloads_.referenced[row]) rows.push_back(row);
  }
  return rows;
}

}  // namespace neffcache
