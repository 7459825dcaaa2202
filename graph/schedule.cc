#include "graph/schedule.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/hlo_schema.h"
#include "graph/packed_list.h"
#include "graph/wire.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

constexpr uint32_t kModuleSchedule = 7;
constexpr uint32_t kEntries = 1;        // Of the schedule.
constexpr uint32_t kComputationId = 1;  // Of an entry; its sequence is the other field.

absl::Status Malformed(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

class ScheduleReader {
 public:
  explicit ScheduleReader(const HloIndex& index) : index_(index) {}

  // Several pieces are one message: their entries follow each other.
  absl::Status ReadPiece(absl::string_view bytes) {
    schedule_.present = true;
    WireReader reader(bytes);
    for (WireField field; reader.Next(&field);) {
      if (field.number != kEntries || field.type != WireType::kBytes) {
        return Malformed(absl::StrCat("schedule field ", field.number, " is unknown"));
      }
      RETURN_IF_ERROR(ReadEntry(field.bytes));
    }
    return reader.damaged() ? Malformed("the schedule is damaged") : absl::OkStatus();
  }

  Schedule Take() { return std::move(schedule_); }

 private:
  absl::Status ReadEntry(absl::string_view bytes) {
    const MessageSchema& schema = SchemaOf(HloMessage::kScheduleEntry);
    int64_t id = 0;
    std::vector<absl::string_view> pieces;
    WireReader reader(bytes);
    for (WireField field; reader.Next(&field);) {
      if (!schema.Fits(field.number, field.type)) {
        return Malformed(absl::StrCat("schedule entry field ", field.number, " is unknown"));
      }
      if (field.number == kComputationId) {
        id = static_cast<int64_t>(field.value);
      } else {
        pieces.push_back(field.bytes);
      }
    }
    if (reader.damaged()) return Malformed("a schedule entry is damaged");
    const auto found = index_.by_id.find(id);
    if (found == index_.by_id.end()) {
      return Malformed(absl::StrCat("scheduled computation ", id, " does not exist"));
    }
    std::vector<uint32_t> sequence;
    for (const absl::string_view piece : pieces) {
      RETURN_IF_ERROR(ReadSequence(piece, index_.computations[found->second], &sequence));
    }
    schedule_.sequences[found->second] = std::move(sequence);  // Of equal keys the last one stands.
    return absl::OkStatus();
  }

  absl::Status ReadSequence(absl::string_view bytes, const ComputationRecord& computation,
                            std::vector<uint32_t>* sequence) {
    const MessageSchema& schema = SchemaOf(HloMessage::kInstructionSequence);
    absl::Status status;
    const auto take = [&](uint64_t id) {
      uint32_t offset = 0;
      if (index_.FindInstruction(computation, static_cast<int64_t>(id), &offset)) {
        sequence->push_back(offset);
      } else {
        status.Update(Malformed(absl::StrCat("scheduled instruction ", id, " does not exist")));
      }
    };
    WireReader reader(bytes);
    for (WireField field; status.ok() && reader.Next(&field);) {
      if (!schema.Fits(field.number, field.type)) {
        return Malformed(absl::StrCat("instruction sequence field ", field.number, " is unknown"));
      }
      if (field.type == WireType::kVarint) {
        take(field.value);
      } else if (!ForEachPacked(field.bytes, take)) {
        return Malformed("a schedule is damaged");
      }
    }
    return reader.damaged() ? Malformed("a schedule is damaged") : status;
  }

  const HloIndex& index_;
  Schedule schedule_;
};

}  // namespace

absl::StatusOr<Schedule> ReadSchedule(const HloIndex& index) {
  ScheduleReader schedule(index);
  WireReader reader(index.module);
  for (WireField field; reader.Next(&field);) {
    if (field.number == kModuleSchedule && field.type == WireType::kBytes) {
      RETURN_IF_ERROR(schedule.ReadPiece(field.bytes));
    }
  }
  return schedule.Take();
}

}  // namespace neffcache
