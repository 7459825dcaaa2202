#include "client/toolchains_call.h"

#include <memory>

#include "io/status_macros.h"
#include "neffcache/v1/cache.grpc.pb.h"

namespace neffcache {

absl::StatusOr<std::vector<Toolchain>> ListToolchainsThrough(Daemon& daemon) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, daemon.Connect());
  v1::ListToolchainsResponse response;
  const grpc::Status status = v1::GraphCache::NewStub(channel)->ListToolchains(
      daemon.NewShortCall().get(), v1::ListToolchainsRequest(), &response);
  RETURN_IF_ERROR(daemon.Error(status, "listing toolchains"));
  std::vector<Toolchain> toolchains;
  for (const v1::Toolchain& toolchain : response.toolchains()) {
    toolchains.push_back({toolchain.name(), toolchain.version()});
  }
  return toolchains;
}

}  // namespace neffcache
