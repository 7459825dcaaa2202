#pragma once

#include "absl/status/status.h"
#include "neffcache/v1/cache.pb.h"
#include "server/rpc/service_context.h"

namespace neffcache {

// Answers a batch of keys from the store; blocks on it, so not for gRPC's threads.
//
// The answer stays below 3 MiB whatever is asked: every entry says its key, state and artifact;
// the key material is left out (who asks has it), and failures' details and small artifacts come
// while there is room, in the order of the keys.
absl::Status Lookup(ServiceContext& context, const v1::LookupRequest& request,
                    v1::LookupResponse& response);

}  // namespace neffcache
