#pragma once

#include <grpcpp/support/server_callback.h>

#include "neffcache/v1/worker.pb.h"
#include "server/rpc/service_context.h"

namespace neffcache {

// The reactor of one Finish stream: the end of a lease. `call` and `response` live as long as the
// call. Owns itself.
grpc::ServerReadReactor<v1::FinishRequest>* StartFinish(ServiceContext& context,
                                                        grpc::CallbackServerContext& call,
                                                        v1::FinishResponse* response);

}  // namespace neffcache
