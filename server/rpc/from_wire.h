#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/parts.h"
#include "neffcache/v1/types.pb.h"
#include "server/store/entry.h"

namespace neffcache {

// What clients and workers send, checked against the limits of types.proto. `field` is the name
// under which the sender knows the value; every error is INVALID_ARGUMENT and begins with it.

absl::StatusOr<Digest> DigestFromWire(absl::string_view bytes, absl::string_view field);
absl::StatusOr<Key> KeyFromWire(absl::string_view bytes, absl::string_view field);
absl::StatusOr<Artifact> ArtifactFromWire(const v1::Artifact& artifact, absl::string_view field);
absl::StatusOr<Toolchain> ToolchainFromWire(const v1::Toolchain& toolchain,
                                            absl::string_view field);

// Also that the options are canonical, allowed, and may be cached.
absl::StatusOr<KeyMaterial> MaterialFromWire(const v1::KeyMaterial& material,
                                             absl::string_view field);

// At most 128 computations.
absl::StatusOr<GraphParts> PartsFromWire(const v1::GraphParts& parts, absl::string_view field);

// Class, message, exit code, signal and log tail: what a worker sets.
absl::StatusOr<Failure> FailureFromWire(const v1::Failure& failure, absl::string_view field);

// A name that people and logs see: at most 256 bytes without control characters.
enum class Empty { kAllowed, kRefused };
absl::Status CheckName(absl::string_view name, absl::string_view field, Empty empty);

// 1 byte to 1 MiB.
absl::Status CheckPiece(absl::string_view piece, absl::string_view field);

absl::Status CheckInlineLimit(uint32_t limit);

absl::Status CheckLogLine(absl::string_view line, absl::string_view field);

// An upload that is damaged is the sender's fault: DATA_LOSS, which speaks of the store, becomes
// INVALID_ARGUMENT. The message begins with `field`.
absl::Status UploadError(const absl::Status& status, absl::string_view field);

}  // namespace neffcache
