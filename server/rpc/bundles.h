#pragma once

#include <grpcpp/support/server_callback.h>

#include "neffcache/v1/cache.pb.h"
#include "server/rpc/service_context.h"

namespace neffcache {

// The reactors of the bundle lists. `request` is not used after StartGetBundle returns. They own
// themselves.
grpc::ServerWriteReactor<v1::BundleSummary>* StartListBundles(ServiceContext& context);
grpc::ServerWriteReactor<v1::BundleKey>* StartGetBundle(ServiceContext& context,
                                                        const v1::GetBundleRequest& request);

}  // namespace neffcache
