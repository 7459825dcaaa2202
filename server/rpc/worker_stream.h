#pragma once

#include <grpcpp/support/server_callback.h>

#include "neffcache/v1/worker.pb.h"
#include "server/rpc/service_context.h"

namespace neffcache {

// The reactor of one worker's Work stream, which is also the dispatcher's way to that worker.
// Owns itself.
grpc::ServerBidiReactor<v1::WorkerMessage, v1::DaemonMessage>* StartWork(ServiceContext& context);

}  // namespace neffcache
