#include "graph/module_description.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/background_digests.h"
#include "graph/computation_writer.h"
#include "graph/dropped_data.h"
#include "graph/encoding.h"
#include "graph/hlo_schema.h"
#include "graph/message_encoder.h"
#include "graph/numbering.h"
#include "graph/schedule.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

constexpr uint32_t kComputations = 3;
constexpr uint32_t kHostProgramShape = 4;
constexpr uint32_t kSchedule = 7;
constexpr uint32_t kStackFrameIndex = 17;
constexpr uint32_t kPayloads = 22;

class Describer {
 public:
  Describer(HloIndex& index, NativeKernels& kernels, Constants constants)
      : index_(index),
        payloads_{index.payloads, std::vector<bool>(index.payloads.size())},
        long_strings_(LongLiterals(index)),
        encoder_(&payloads_, &long_strings_),
        dropped_(constants == Constants::kAll),
        writer_(index, numbering_, encoder_, kernels, dropped_, constants) {}

  absl::StatusOr<DescriptionDigests> Run(GraphOrder order, absl::string_view tag) {
    ASSIGN_OR_RETURN(schedule_, ReadSchedule(index_));
    if (order == GraphOrder::kCanonical) {
      RETURN_IF_ERROR(NumberCanonically(index_, schedule_, writer_, &numbering_));
      RETURN_IF_ERROR(Failure());
    } else {
      ASSIGN_OR_RETURN(numbering_, WrittenNumbering(index_));
    }
    out_.PutBlob(tag);
    dropped_.Note(DroppedData::Kind::kModuleName, index_.name);
    WriteAll();
    RETURN_IF_ERROR(Failure());
    out_.FlushInto(hash_, 0);
    return DescriptionDigests{hash_.Finish(), dropped_.Finish()};
  }

 private:
  absl::Status Failure() const {
    return encoder_.error().empty() ? absl::OkStatus()
                                    : absl::InvalidArgumentError(encoder_.error());
  }

  bool WriteAll() {
    out_.PutVarint(index_.computations.size());
    for (uint32_t computation : numbering_.computation_at) {
      if (!writer_.WriteComputation(index_.computations[computation], References::kPositions, &out_,
                                    hash_)) {
        return false;
      }
    }
    return WriteModuleFields();
  }

  bool WriteModuleFields() {
    const MessageSchema& schema = SchemaOf(HloMessage::kModule);
    MessageEncoder::Fields fields;
    if (!encoder_.Read(schema, index_.module, &fields, /*without=*/kComputations)) return false;
    bool has_payloads = false;
    for (size_t i = fields.begin; i < fields.end;) {
      const size_t next = encoder_.GroupEnd(i, fields.end);
      const WireField last = encoder_.At(next - 1);
      const FieldSchema* known = schema.Find(last.number);
      const Treatment treatment = known == nullptr ? Treatment::kKeep : known->treatment;
      if (last.number == kStackFrameIndex && !last.bytes.empty()) {
        dropped_.Note(DroppedData::Kind::kStackFrames, last.bytes);
      }
      if (last.number == kHostProgramShape) writer_.NoteParameterNames(last.bytes);
      if (treatment == Treatment::kSchedule) {
        WriteSchedule();
      } else if (treatment == Treatment::kPayloads) {
        has_payloads = true;
      } else if (treatment != Treatment::kNumber) {
        if (!encoder_.EncodeGroup(schema, {i, next}, &out_)) return false;
      }
      out_.FlushInto(hash_);
      i = next;
    }
    encoder_.Release(fields);
    // Last, since the fields above refer to payloads, too.
    if (has_payloads) WriteUnreferencedPayloads();
    out_.PutVarint(0);
    out_.PutVarint(numbering_.computation_position[index_.entry]);
    return true;
  }

  // Nothing known refers to these, so their place in the table may mean something.
  void WriteUnreferencedPayloads() {
    const auto& referenced = payloads_.referenced;
    const auto unreferenced = std::count(referenced.begin(), referenced.end(), false);
    if (unreferenced == 0) return;
    out_.PutHeader(kPayloads, Kind::kStringList);
    out_.PutVarint(static_cast<uint64_t>(unreferenced));
    for (size_t i = 0; i < referenced.size(); ++i) {
      if (referenced[i]) continue;
      out_.PutVarint(i);
      encoder_.EncodeString(payloads_.rows[i], &out_);
      out_.FlushInto(hash_);
    }
  }

  // A total order per computation: by the computation's position, the positions of instructions.
  void WriteSchedule() {
    std::vector<uint32_t> sorted;
    for (const auto& [computation, sequence] : schedule_.sequences) {
      sorted.push_back(numbering_.computation_position[computation]);
    }
    std::sort(sorted.begin(), sorted.end());
    out_.PutHeader(kSchedule, Kind::kPositionList);
    out_.PutVarint(sorted.size());
    for (const uint32_t position : sorted) {
      out_.PutVarint(position);
      const uint32_t computation = numbering_.computation_at[position];
      numbering_.PutSequence(index_.computations[computation], *schedule_.Of(computation), &out_);
      out_.FlushInto(hash_);
    }
  }

  HloIndex& index_;
  PayloadTable payloads_;
  BackgroundDigests long_strings_;
  MessageEncoder encoder_;
  Schedule schedule_;
  Numbering numbering_;
  DroppedData dropped_;
  ComputationWriter writer_;
  Encoding out_;
  Sha256 hash_;
};

// Before a Describer begins to hash what nobody will ask for.
absl::Status CheckTransparent(const HloIndex& index) {
  return index.opaque_reason.empty() ? absl::OkStatus()
                                     : absl::InvalidArgumentError(index.opaque_reason);
}

}  // namespace

absl::string_view DescriptionTag(GraphOrder order) {
  return order == GraphOrder::kCanonical ? "neffcache-hlo-1" : "neffcache-hlo-1-exact";
}

absl::StatusOr<DescriptionDigests> DescribeModule(HloIndex& index, GraphOrder order,
                                                  NativeKernels& kernels) {
  RETURN_IF_ERROR(CheckTransparent(index));
  return Describer(index, kernels, Constants::kAll).Run(order, DescriptionTag(order));
}

absl::StatusOr<Digest> DescribeSkeleton(HloIndex& index, NativeKernels& kernels) {
  RETURN_IF_ERROR(CheckTransparent(index));
  ASSIGN_OR_RETURN(const DescriptionDigests digests,
                   Describer(index, kernels, Constants::kMaskScalars)
                       .Run(GraphOrder::kCanonical, "neffcache-skeleton-1"));
  return digests.description;
}

}  // namespace neffcache
