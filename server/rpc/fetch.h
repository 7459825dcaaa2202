#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/rpc/service_context.h"

namespace neffcache {

// The reactors of the two raw methods that stream content: Fetch for clients, FetchGraph for
// workers. `request` is the serialized message; it is not used after these return. They own
// themselves.
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartFetch(ServiceContext& context,
                                                       const grpc::ByteBuffer& request);
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartFetchGraph(ServiceContext& context,
                                                            const grpc::ByteBuffer& request);

}  // namespace neffcache
