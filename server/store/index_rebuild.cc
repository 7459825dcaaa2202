#include "server/store/index_rebuild.h"

#include <utility>

#include "absl/types/optional.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/entry_codec.h"

namespace neffcache {

absl::Status IndexRebuild::TakeUp(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const EntryFile record, DecodeEntryFile(bytes));
  const auto turn = parts_.keys.Take(record.entry.key);
  ASSIGN_OR_RETURN(const absl::optional<Entry> current, parts_.entries.Find(record.entry.key));
  if (current.has_value()) {
    ++counts_.known;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(
      parts_.recorded.TakeUp(record, parts_.database.NewBatch(), Durability::kBuffered));
  ++counts_.taken_up;
  return absl::OkStatus();
}

absl::StatusOr<RebuildCounts> IndexRebuild::Run() {
  RETURN_IF_ERROR(
      parts_.records.ForEach([this](const std::string&, absl::string_view record) -> absl::Status {
        absl::Status status = TakeUp(record);
        if (!absl::IsDataLoss(status)) return status;
        ++counts_.damaged;
        return absl::OkStatus();
      }));
  // Makes all of the above durable.
  RETURN_IF_ERROR(parts_.database.Write(parts_.database.NewBatch(), Durability::kSynced));
  return counts_;
}

}  // namespace neffcache
