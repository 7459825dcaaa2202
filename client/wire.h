#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "client/identified_spec.h"
#include "graph/parts.h"
#include "neffcache/client.h"
#include "neffcache/v1/cache.pb.h"

// The client's values as protocol messages and back. Pure.
namespace neffcache {

v1::KeyMaterial ToProto(const KeyMaterial& material);
v1::GraphParts ToProto(const GraphParts& parts);
v1::Purpose ToProto(CompilePurpose purpose);

// INTERNAL: a digest is not 32 bytes.
absl::StatusOr<KeyMaterial> MaterialFrom(const v1::KeyMaterial& material);
absl::StatusOr<GraphParts> PartsFrom(const v1::GraphParts& parts);

// "deterministic", "memory", "transient", "unclear".
absl::string_view FailureClassName(v1::FailureClass failure_class);

CompileFailure FailureFrom(const v1::Failure& failure);

// INTERNAL: the daemon's digest is not 32 bytes.
absl::StatusOr<ArtifactName> ArtifactFrom(const v1::Artifact& artifact);

// The bytes that came with an answer, if they are the artifact's; a damaged copy is as good as
// none, for the artifact can still be fetched.
absl::optional<std::string> VerifiedInline(const std::string& bytes, const ArtifactName& artifact);

// INTERNAL: the entry is not `key`'s, or is malformed. What is neither ready nor failed is absent.
absl::StatusOr<KeyState> KeyStateFrom(const v1::Entry& entry, const Key& key);
// The same with a lookup's own state and inline bytes.
absl::StatusOr<KeyState> KeyStateFrom(const v1::LookupResult& result, const Key& key);

// INTERNAL: the daemon says that a key is ready but means another.
absl::StatusOr<CompileOutcome> OutcomeFrom(const v1::Ready& ready, const Key& key);

}  // namespace neffcache
