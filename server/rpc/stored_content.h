#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/entry.h"
#include "server/store/store.h"

namespace neffcache {

// Reading the store on behalf of a client: what is found damaged is never served again.
// All of these block on the disk.

// NOT_FOUND; DATA_LOSS: the content is missing or damaged; an artifact is quarantined then.
absl::StatusOr<ContentReader> OpenStored(Store& store, ContentKind kind, const Digest& digest);

// The whole artifact, for an answer that carries it inside. Errors as OpenStored.
absl::StatusOr<std::string> ReadArtifact(Store& store, const Artifact& artifact);

// Quarantines (artifacts), logs, and gives the DATA_LOSS to answer with. `why` is a clause.
absl::Status Damaged(Store& store, ContentKind kind, const Digest& digest, absl::string_view why);

}  // namespace neffcache
