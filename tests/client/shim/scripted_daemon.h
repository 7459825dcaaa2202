#pragma once

#include <grpcpp/server.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "neffcache/v1/cache.grpc.pb.h"

namespace neffcache::shim {

// A daemon on loopback whose answers a test writes down: a real server, so that the shim crosses a
// real connection.
class ScriptedDaemon {
 public:
  using CompileStream = grpc::ServerReaderWriter<v1::CompileEvent, v1::CompileRequest>;
  using CompileScript =
      std::function<grpc::Status(grpc::ServerContext&, const v1::CompileStart&, CompileStream&)>;
  using FetchScript = std::function<grpc::Status(grpc::ServerContext&, const v1::FetchRequest&,
                                                 grpc::ServerWriter<v1::FetchResponse>&)>;

  explicit ScriptedDaemon(CompileScript compile, FetchScript fetch = {});
  ~ScriptedDaemon();

  const std::string& address() const { return address_; }
  int compiles() const { return service_.compiles; }

  // Cuts every connection.
  void Stop();

 private:
  struct Service : v1::GraphCache::Service {
    grpc::Status Compile(grpc::ServerContext* context, CompileStream* stream) override;
    grpc::Status Fetch(grpc::ServerContext* context, const v1::FetchRequest* request,
                       grpc::ServerWriter<v1::FetchResponse>* writer) override;

    CompileScript compile;
    FetchScript fetch;
    std::atomic<int> compiles = 0;
  };

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// The answer that the artifact of this start is ready, with its bytes or to be fetched.
v1::CompileEvent ReadyEvent(const v1::CompileStart& start, const std::string& artifact,
                            bool is_inline);

// Scripts that answer at once.
ScriptedDaemon::CompileScript Have(std::string artifact, bool is_inline);
ScriptedDaemon::CompileScript Fail(v1::Failure failure);
ScriptedDaemon::FetchScript Serve(std::string artifact);

}  // namespace neffcache::shim
