#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "graph/explain/field_change.h"
#include "graph/fingerprint.h"

namespace neffcache {

// Compares two backend configurations that are JSON, or base64 of it, member by member; the paths
// of changes begin with `path`. False, and nothing added, where one is no JSON of reasonable size
// and depth, or where only its spelling differs.
//
// What stands in klir_binary.binary of an NKI kernel is compared by the content of the file, as
// `options` lets it be read.
bool CompareJson(absl::string_view before, absl::string_view after, const IdentifyOptions& options,
                 const std::string& path, FieldChanges* changes);

}  // namespace neffcache
