#include "server/store/entry_codec.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "neffcache/v1/store.pb.h"
#include "server/store/entry_messages.h"

namespace neffcache {
namespace {

v1::EntryRecord ToRecord(const Entry& entry) {
  v1::EntryRecord record;
  *record.mutable_entry() = ToMessage(entry);
  record.set_fencing_token(entry.fencing_token);
  return record;
}

// Whatever is wrong with bytes that the store itself wrote, it is damage.
absl::StatusOr<v1::EntryRecord> Parse(absl::string_view bytes) {
  v1::EntryRecord record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("decoding an entry: it is no EntryRecord");
  }
  return record;
}

absl::StatusOr<Entry> Decode(const v1::EntryRecord& record) {
  absl::StatusOr<Entry> entry = FromMessage(record.entry());
  if (!entry.ok()) {
    return absl::DataLossError(absl::StrCat("decoding an entry: ", entry.status().message()));
  }
  entry->fencing_token = record.fencing_token();
  return entry;
}

}  // namespace

absl::StatusOr<std::string> EncodeEntry(const Entry& entry) {
  RETURN_IF_ERROR(CheckEncodable(entry.material));
  return ToRecord(entry).SerializeAsString();
}

absl::StatusOr<Entry> DecodeEntry(absl::string_view record) {
  ASSIGN_OR_RETURN(const v1::EntryRecord parsed, Parse(record));
  return Decode(parsed);
}

absl::StatusOr<std::string> EncodeEntryFile(const Entry& entry,
                                            absl::Span<const std::string> bundles,
                                            absl::string_view inline_artifact) {
  RETURN_IF_ERROR(CheckEncodable(entry.material));
  v1::EntryRecord record = ToRecord(entry);
  for (const std::string& bundle : bundles) record.add_bundles(bundle);
  record.set_inline_artifact(inline_artifact.data(), inline_artifact.size());
  return record.SerializeAsString();
}

absl::StatusOr<EntryFile> DecodeEntryFile(absl::string_view file) {
  ASSIGN_OR_RETURN(v1::EntryRecord record, Parse(file));
  EntryFile result;
  ASSIGN_OR_RETURN(result.entry, Decode(record));
  result.bundles.assign(record.bundles().begin(), record.bundles().end());
  const Artifact* artifact = result.entry.ready();
  if (!record.inline_artifact().empty() || (artifact != nullptr && artifact->size == 0)) {
    result.inline_artifact = std::move(*record.mutable_inline_artifact());
  }
  return result;
}

}  // namespace neffcache
