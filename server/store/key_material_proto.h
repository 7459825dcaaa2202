#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/key.h"
#include "io/digest.h"
#include "neffcache/v1/types.pb.h"

namespace neffcache {

// Between key material and its message; for the codecs of this folder only.
void ToProto(const KeyMaterial& material, v1::KeyMaterial& message);
absl::StatusOr<KeyMaterial> FromProto(const v1::KeyMaterial& message);

// An optional digest: no bytes for an empty one. DATA_LOSS: neither 0 nor 32 bytes.
absl::StatusOr<Digest> OptionalDigest(absl::string_view bytes);
std::string OptionalBytes(const Digest& digest);

// INVALID_ARGUMENT when a part could not be read back.
absl::Status CheckEncodable(const KeyMaterial& material);

}  // namespace neffcache
