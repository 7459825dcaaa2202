#include "graph/explain/source_lines.h"

#include "graph/explain/module_fields.h"
#include "graph/explain/printable.h"
#include "graph/hlo_schema.h"
#include "graph/wire.h"

namespace neffcache {
namespace {

constexpr size_t kLongestFile = 200;
constexpr size_t kMostRows = size_t{1} << 20;

int64_t Int32(uint64_t value) {
  return static_cast<int64_t>(ReadAs(FieldType::kInt32, value));
}

// The row that `number`, from 1, names; null when there is none.
template <typename Row>
const Row* At(const std::vector<Row>& rows, int64_t number) {
  if (number < 1 || static_cast<uint64_t>(number) > rows.size()) return nullptr;
  return &rows[static_cast<size_t>(number - 1)];
}

}  // namespace

void SourceLines::ReadStackFrames() {
  if (read_) return;
  read_ = true;
  const auto read_pair = [](absl::string_view bytes, uint32_t first, uint32_t second) {
    Pair pair;
    WireReader reader(bytes);
    for (WireField field; reader.Next(&field);) {
      if (field.type != WireType::kVarint) continue;
      if (field.number == first) pair.first = Int32(field.value);
      if (field.number == second) pair.second = Int32(field.value);
    }
    return pair;
  };
  WireReader module(module_);
  for (WireField field; module.Next(&field);) {
    if (field.number != kStackFrameIndexField || field.type != WireType::kBytes) continue;
    WireReader index(field.bytes);
    for (WireField row; index.Next(&row);) {
      if (row.type != WireType::kBytes) continue;
      if (row.number == 1 && files_.size() < kMostRows) files_.push_back(row.bytes);
      if (row.number == 3 && locations_.size() < kMostRows) {
        locations_.push_back(read_pair(row.bytes, 1, 3));  // file_name_id, line
      }
      if (row.number == 4 && frames_.size() < kMostRows) {
        frames_.push_back(read_pair(row.bytes, 1, 2));  // file_location_id
      }
    }
  }
}

SourceLine SourceLines::Of(const InstructionRecord& instruction) {
  absl::string_view file;
  int64_t line = 0, frame_id = 0;
  WireReader reader(instruction.bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.number != kMetadataField || field.type != WireType::kBytes) continue;
    WireReader metadata(field.bytes);
    for (WireField part; metadata.Next(&part);) {
      if (part.number == 3 && part.type == WireType::kBytes) file = part.bytes;
      if (part.number == 4 && part.type == WireType::kVarint) line = Int32(part.value);
      if (part.number == 15 && part.type == WireType::kVarint) frame_id = Int32(part.value);
    }
  }
  if (file.empty() && frame_id > 0) {
    ReadStackFrames();
    const Pair* const frame = At(frames_, frame_id);
    const Pair* const location = frame == nullptr ? nullptr : At(locations_, frame->first);
    const absl::string_view* const name =
        location == nullptr ? nullptr : At(files_, location->first);
    if (name != nullptr) {
      file = *name;
      line = location->second;
    }
  }
  return {Printable(file, kLongestFile), line};
}

}  // namespace neffcache
