#pragma once

#include <grpcpp/support/server_callback.h>

#include "neffcache/v1/cache.pb.h"
#include "server/rpc/service_context.h"

namespace neffcache {

// The reactor of one Publish stream. `call` and `response` live as long as the call. Owns itself.
grpc::ServerReadReactor<v1::PublishRequest>* StartPublish(ServiceContext& context,
                                                          grpc::CallbackServerContext& call,
                                                          v1::PublishResponse* response);

}  // namespace neffcache
