#pragma once

#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "neffcache/v1/admin.pb.h"
#include "server/rpc/service_context.h"

namespace neffcache {

// The Admin service's answers. All block on the store, so none is for gRPC's threads.
absl::Status ResolveKey(ServiceContext& context, const v1::ResolveKeyRequest& request,
                        v1::ResolveKeyResponse& response);
absl::Status ListCompiles(ServiceContext& context, v1::ListCompilesResponse& response);
absl::Status ListWorkers(ServiceContext& context, v1::ListWorkersResponse& response);
absl::Status ShowKey(ServiceContext& context, const v1::ShowKeyRequest& request,
                     v1::ShowKeyResponse& response);
absl::Status Retry(ServiceContext& context, const v1::RetryRequest& request);
absl::Status Explain(ServiceContext& context, const v1::ExplainRequest& request,
                     v1::ExplainResponse& response);
absl::Status GetStats(ServiceContext& context, v1::Stats& response);

// The reactor of ListEntries; owns itself.
grpc::ServerWriteReactor<v1::Entry>* StartListEntries(ServiceContext& context,
                                                      const v1::ListEntriesRequest& request);

}  // namespace neffcache
