#pragma once

#include <grpcpp/support/server_callback.h>

#include "neffcache/v1/cache.pb.h"
#include "server/rpc/service_context.h"

namespace neffcache {

// The reactor of one Compile stream (protocol: cache.proto). Owns itself.
grpc::ServerBidiReactor<v1::CompileRequest, v1::CompileEvent>* StartCompile(
    ServiceContext& context);

}  // namespace neffcache
