#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "graph/key.h"
#include "io/digest.h"
#include "neffcache/v1/types.pb.h"
#include "server/store/entry.h"

namespace neffcache {

// Entries and their parts as the messages of types.proto: the same on disk, in the store's records,
// and on the wire, in answers. Times are kept to the millisecond; values that are absent become the
// message's zero. Pure functions.

v1::Toolchain ToMessage(const Toolchain& toolchain);
v1::KeyMaterial ToMessage(const KeyMaterial& material);
v1::Artifact ToMessage(const Artifact& artifact);
v1::Failure ToMessage(const Failure& failure);
v1::Entry ToMessage(const Entry& entry);
// For those who asked by key: they have the material, and it is most of an entry.
v1::Entry ToMessageWithoutMaterial(const Entry& entry);

// What the store itself wrote; what others send is checked first (server/rpc/from_wire.h). An error
// says which part is damaged. The entry has no fencing token: the message has none.
absl::StatusOr<KeyMaterial> FromMessage(const v1::KeyMaterial& message);
absl::StatusOr<Entry> FromMessage(const v1::Entry& message);

// Nothing for a class that is unspecified or not known to us.
absl::optional<FailureClass> FromMessage(v1::FailureClass failure_class);

// An optional digest: no bytes for an empty one. DATA_LOSS: neither 0 nor 32 bytes.
absl::StatusOr<Digest> OptionalDigest(absl::string_view bytes);
std::string OptionalBytes(const Digest& digest);

// INVALID_ARGUMENT when a part could not be read back.
absl::Status CheckEncodable(const KeyMaterial& material);

}  // namespace neffcache
