#pragma once

#include <grpcpp/server_builder.h>

#include <memory>

#include "server/rpc/service_context.h"

namespace neffcache {

// The three gRPC services of neffcache/v1, as thin as can be: each method starts its reactor, or
// runs its function on the executor. They must live as long as the server built with them.
class Services {
 public:
  // `context` must outlive this.
  explicit Services(ServiceContext& context);
  ~Services();

  void Register(grpc::ServerBuilder& builder);

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace neffcache
