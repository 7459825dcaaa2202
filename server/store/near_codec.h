#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "graph/key.h"
#include "graph/parts.h"
#include "io/digest.h"
#include "neffcache/v1/types.pb.h"
#include "server/store/near_entry.h"

namespace neffcache {

// The rows by which near entries are found (docs/formats/store.md). Pure functions.

// What two entries have in common; its letter begins the row.
enum class NearBy : char {
  kGraph = 'F',
  kSkeleton = 'S',
  kSignature = 'G',
  kComputation = 'C',
  kName = 'N',
};

// An entry's parts as they are kept.
struct KeptParts {
  Digest fingerprint;
  std::string graph_name;  // Its stem.
  absl::Time indexed = absl::UnixEpoch();
  absl::optional<GraphParts> parts;
};

// Column kParts: "P", key.
std::string PartsRow(const Key& key);
// Letter, first 16 bytes of the digest: the beginning of every row with an equal part.
std::string NearPrefix(NearBy by, const Digest& digest);
// The prefix, the time (milliseconds, inverted, so that the newest comes first), the key.
std::string NearRow(absl::string_view prefix, absl::Time indexed, const Key& key);

std::string EncodeKeptParts(const KeptParts& kept);
absl::StatusOr<KeptParts> DecodeKeptParts(absl::string_view bytes);

std::string EncodeMiss(const Miss& miss);
absl::StatusOr<Miss> DecodeMiss(absl::string_view bytes);

v1::GraphParts ToMessage(const GraphParts& parts);
v1::Miss ToMessage(const Miss& miss);
// DATA_LOSS: a digest is not 32 bytes.
absl::StatusOr<GraphParts> FromMessage(const v1::GraphParts& message);

}  // namespace neffcache
