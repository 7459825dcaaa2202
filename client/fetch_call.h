#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/daemon.h"
#include "client/download.h"
#include "io/digest.h"
#include "neffcache/client.h"
#include "neffcache/v1/cache.pb.h"

namespace neffcache {

// Who named the artifact; the daemon counts hits by it.
enum class NamedBy { kCaller, kCompile };

// As Client::Fetch(). CANCELLED, and no file: `should_stop` said so.
absl::Status FetchVerified(Daemon& daemon, const ArtifactName& artifact, const std::string& path,
                           NamedBy named_by, ShouldStop should_stop = NeverStop,
                           Acquaintance acquaintance = Acquaintance::kNone);

// Gives a kept log or graph, decompressed, to `sink` as it arrives. DATA_LOSS, after the bytes were
// given: they do not have the digest. RESOURCE_EXHAUSTED: more than `limit` bytes. The daemon has
// just named the digest, so it is waited for when it goes away.
absl::Status FetchDecompressed(Daemon& daemon, v1::FetchRequest::Kind kind, const Digest& digest,
                               uint64_t limit,
                               absl::FunctionRef<absl::Status(absl::string_view)> sink,
                               ShouldStop should_stop = NeverStop);

}  // namespace neffcache
