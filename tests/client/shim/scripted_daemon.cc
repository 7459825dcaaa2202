#include "tests/client/shim/scripted_daemon.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "graph/key.h"
#include "io/digest.h"
#include "transport/limits.h"

namespace neffcache::shim {

ScriptedDaemon::ScriptedDaemon(CompileScript compile, FetchScript fetch) {
  service_.compile = std::move(compile);
  service_.fetch = std::move(fetch);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

ScriptedDaemon::~ScriptedDaemon() {
  Stop();
}

void ScriptedDaemon::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
}

grpc::Status ScriptedDaemon::Service::Compile(grpc::ServerContext* context, CompileStream* stream) {
  ++compiles;
  v1::CompileRequest request;
  if (!stream->Read(&request) || !request.has_start()) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no start");
  }
  return compile(*context, request.start(), *stream);
}

grpc::Status ScriptedDaemon::Service::Fetch(grpc::ServerContext* context,
                                            const v1::FetchRequest* request,
                                            grpc::ServerWriter<v1::FetchResponse>* writer) {
  if (!fetch) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such content");
  return fetch(*context, *request, *writer);
}

v1::CompileEvent ReadyEvent(const v1::CompileStart& start, const std::string& artifact,
                            bool is_inline) {
  KeyMaterial material;
  material.fingerprint = {start.material().fingerprint().tag(),
                          *Digest::FromBytes(start.material().fingerprint().digest())};
  material.options = {start.material().options().begin(), start.material().options().end()};
  material.toolchain = {start.material().toolchain().name(),
                        start.material().toolchain().version()};

  v1::CompileEvent event;
  v1::Ready& ready = *event.mutable_ready();
  v1::Entry& entry = *ready.mutable_entry();
  entry.set_key(std::string(ComputeKey(material).bytes()));
  *entry.mutable_material() = start.material();
  entry.mutable_ready()->set_digest(std::string(Sha256Of(artifact).bytes()));
  entry.mutable_ready()->set_size(artifact.size());
  if (is_inline) ready.set_inline_artifact(artifact);
  return event;
}

ScriptedDaemon::CompileScript Have(std::string artifact, bool is_inline) {
  return [artifact = std::move(artifact), is_inline](grpc::ServerContext&,
                                                     const v1::CompileStart& start,
                                                     ScriptedDaemon::CompileStream& stream) {
    stream.Write(ReadyEvent(start, artifact, is_inline));
    return grpc::Status::OK;
  };
}

ScriptedDaemon::CompileScript Fail(v1::Failure failure) {
  return [failure = std::move(failure)](grpc::ServerContext&, const v1::CompileStart&,
                                        ScriptedDaemon::CompileStream& stream) {
    v1::CompileEvent event;
    *event.mutable_failed() = failure;
    stream.Write(event);
    return grpc::Status::OK;
  };
}

ScriptedDaemon::FetchScript Serve(std::string artifact) {
  return [artifact = std::move(artifact)](grpc::ServerContext&, const v1::FetchRequest& request,
                                          grpc::ServerWriter<v1::FetchResponse>& writer) {
    v1::FetchResponse response;
    for (size_t at = request.offset(); at < artifact.size(); at += kPieceSize) {
      response.set_data(artifact.substr(at, kPieceSize));
      writer.Write(response);
    }
    return grpc::Status::OK;
  };
}

}  // namespace neffcache::shim
