#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "graph/fingerprint.h"
#include "graph/key.h"
#include "io/digest.h"

namespace neffcache {

// Keys of the rows that are not simply a key or digest (32 bytes). The grammar is in
// docs/formats/store.md; each of these orders and splits without ambiguity.

// Column kFailures: expiry (milliseconds, 8 bytes big-endian), key.
std::string FailureRow(absl::Time expiry, const Key& key);
// The least row that has not expired at `now`.
std::string FailuresFrom(absl::Time now);

// Column kReferences: artifact digest, key.
std::string ReferenceRow(const Digest& artifact, const Key& key);

// Column kGraphs: fingerprint digest, tag.
std::string GraphRow(const Fingerprint& fingerprint);

// Column kBundles: name, NUL, key. BundlePrefix is the part before the key.
std::string BundlePrefix(absl::string_view bundle);
std::string BundleRow(absl::string_view bundle, const Key& key);
// Column kBundlesOf: key, name.
std::string BundlesOfRow(const Key& key, absl::string_view bundle);

// Column kNative: toolchain version, NUL, module.
std::string NativeRow(absl::string_view toolchain_version, absl::string_view module);

// The key at the end of a row of kFailures, kReferences or kBundles. DATA_LOSS when it is too short
// for one.
absl::StatusOr<Key> KeyAtEnd(absl::string_view row);

// INVALID_ARGUMENT unless `name` has 1 to kMaxNameBytes bytes and no NUL. `what` is for the
// message.
absl::Status CheckName(absl::string_view what, absl::string_view name);

}  // namespace neffcache
