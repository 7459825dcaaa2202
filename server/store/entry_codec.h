#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "server/store/entry.h"

namespace neffcache {

// Entries as they are on disk: message EntryRecord of proto/neffcache/v1/store.proto. Times are
// kept to the millisecond. Pure functions; decoding says DATA_LOSS for bytes that are no entry.

// INVALID_ARGUMENT: the material holds text that could not be read back.
absl::StatusOr<std::string> EncodeEntry(const Entry& entry);
absl::StatusOr<Entry> DecodeEntry(absl::string_view record);

// A record file: the entry with what is needed to rebuild its rows.
struct EntryFile {
  Entry entry;
  std::vector<std::string> bundles;
  absl::optional<std::string> inline_artifact;  // The artifact's bytes, when it is kept inline.
};
absl::StatusOr<std::string> EncodeEntryFile(const Entry& entry,
                                            absl::Span<const std::string> bundles,
                                            absl::string_view inline_artifact);
absl::StatusOr<EntryFile> DecodeEntryFile(absl::string_view file);

}  // namespace neffcache
