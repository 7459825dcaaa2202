#include "server/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "io/status_macros.h"
#include "server/rpc/listen_address.h"
#include "server/rpc/services.h"
#include "transport/channel.h"

namespace neffcache {
namespace {

constexpr const char* kServiceNames[] = {"neffcache.v1.GraphCache", "neffcache.v1.CompileWorker",
                                         "neffcache.v1.Admin"};

void SetServing(grpc::Server& server, bool serving) {
  grpc::HealthCheckServiceInterface* health = server.GetHealthCheckService();
  health->SetServingStatus(serving);
  for (const char* name : kServiceNames) health->SetServingStatus(name, serving);
}

}  // namespace

struct Server::Parts {
  Parts(Store& store, CompileDispatcher& dispatcher, const ServiceLimits& limits)
      : context(store, dispatcher, limits), services(context) {}

  ServiceContext context;
  Services services;
  std::unique_ptr<grpc::Server> server;  // Last: its calls use the rest.
  std::string address;
  std::string local_address;
};

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, Store& store,
                                                      CompileDispatcher& dispatcher) {
  ASSIGN_OR_RETURN(ListenAddress address, ListenAddress::Parse(options.listen));
  // gRPC would log a page and not say why.
  if (address.port != 0) RETURN_IF_ERROR(address.TryBind());
  // Both are switches of the process, read when a server is built.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  auto parts = std::make_unique<Parts>(store, dispatcher, options.limits);
  grpc::ServerBuilder builder;
  ApplyTransportArguments(builder);
  // gRPC looks at a message's size when all of it has come.
  grpc::ResourceQuota quota("neffcached");
  quota.Resize(options.receive_bytes);
  builder.SetResourceQuota(quota);
  int port = 0;
  builder.AddListeningPort(address.ToString(), grpc::InsecureServerCredentials(), &port);
  parts->services.Register(builder);
  parts->server = builder.BuildAndStart();
  if (parts->server == nullptr || port == 0) {
    RETURN_IF_ERROR(address.TryBind());
    return absl::UnavailableError(
        absl::StrCat("listening on ", address.ToString(), ": gRPC could not start"));
  }
  address.port = static_cast<uint16_t>(port);
  parts->address = address.ToString();
  parts->local_address = address.Local();
  SetServing(*parts->server, true);
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
  Shutdown(absl::Now());
}

const std::string& Server::address() const {
  return parts_->address;
}

const std::string& Server::local_address() const {
  return parts_->local_address;
}

void Server::SetNotServing() {
  SetServing(*parts_->server, false);
}

void Server::Shutdown(absl::Time deadline) {
  parts_->server->Shutdown(absl::ToChronoTime(deadline));
}

}  // namespace neffcache
