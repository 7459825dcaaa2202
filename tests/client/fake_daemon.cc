#include "tests/client/fake_daemon.h"

#include <grpcpp/server_builder.h>

#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/digest.h"
#include "transport/channel.h"

namespace neffcache {
namespace {

template <typename Function, typename... Arguments>
grpc::Status Run(const Function& function, Arguments... arguments) {
  if (!function) return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not part of this test");
  return function(arguments...);
}

}  // namespace

class FakeDaemon::CacheService final : public v1::GraphCache::Service {
 public:
  explicit CacheService(FakeDaemon& daemon) : daemon_(daemon) {}

  grpc::Status Lookup(grpc::ServerContext*, const v1::LookupRequest* request,
                      v1::LookupResponse* response) override {
    return daemon_.lookup ? daemon_.lookup(*request, response) : Missing();
  }
  grpc::Status Compile(grpc::ServerContext* context, CompileStream* stream) override {
    return Run(daemon_.compile, context, stream);
  }
  grpc::Status Fetch(grpc::ServerContext* context, const v1::FetchRequest* request,
                     grpc::ServerWriter<v1::FetchResponse>* writer) override {
    return daemon_.fetch ? daemon_.fetch(context, *request, writer) : Missing();
  }
  grpc::Status Publish(grpc::ServerContext*, grpc::ServerReader<v1::PublishRequest>* reader,
                       v1::PublishResponse* response) override {
    return Run(daemon_.publish, reader, response);
  }
  grpc::Status GetBundle(grpc::ServerContext*, const v1::GetBundleRequest* request,
                         grpc::ServerWriter<v1::BundleKey>* writer) override {
    return daemon_.get_bundle ? daemon_.get_bundle(*request, writer) : Missing();
  }
  grpc::Status ListToolchains(grpc::ServerContext*, const v1::ListToolchainsRequest*,
                              v1::ListToolchainsResponse* response) override {
    return Run(daemon_.list_toolchains, response);
  }

 private:
  static grpc::Status Missing() {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not part of this test");
  }

  FakeDaemon& daemon_;
};

class FakeDaemon::AdminService final : public v1::Admin::Service {
 public:
  explicit AdminService(FakeDaemon& daemon) : daemon_(daemon) {}

  grpc::Status ResolveKey(grpc::ServerContext*, const v1::ResolveKeyRequest* request,
                          v1::ResolveKeyResponse* response) override {
    return daemon_.resolve_key ? daemon_.resolve_key(*request, response) : Missing();
  }
  grpc::Status ListEntries(grpc::ServerContext*, const v1::ListEntriesRequest*,
                           grpc::ServerWriter<v1::Entry>* writer) override {
    return Run(daemon_.list_entries, writer);
  }
  grpc::Status ShowKey(grpc::ServerContext*, const v1::ShowKeyRequest* request,
                       v1::ShowKeyResponse* response) override {
    return daemon_.show_key ? daemon_.show_key(*request, response) : Missing();
  }
  grpc::Status Retry(grpc::ServerContext*, const v1::RetryRequest* request,
                     v1::RetryResponse*) override {
    return daemon_.retry ? daemon_.retry(*request) : Missing();
  }
  grpc::Status GetStats(grpc::ServerContext*, const v1::GetStatsRequest*,
                        v1::Stats* response) override {
    return Run(daemon_.get_stats, response);
  }
  grpc::Status Explain(grpc::ServerContext*, const v1::ExplainRequest* request,
                       v1::ExplainResponse* response) override {
    return daemon_.explain ? daemon_.explain(*request, response) : Missing();
  }

 private:
  static grpc::Status Missing() {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not part of this test");
  }

  FakeDaemon& daemon_;
};

FakeDaemon::FakeDaemon()
    : cache_(std::make_unique<CacheService>(*this)), admin_(std::make_unique<AdminService>(*this)) {
  Start("127.0.0.1:0");
}

FakeDaemon::~FakeDaemon() {
  Stop();
}

void FakeDaemon::Start(const std::string& address) {
  grpc::ServerBuilder builder;
  ApplyTransportArguments(builder);
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(cache_.get());
  builder.RegisterService(admin_.get());
  absl::MutexLock lock(&mutex_);
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
}

void FakeDaemon::Stop() {
  std::unique_ptr<grpc::Server> server;
  {
    absl::MutexLock lock(&mutex_);
    server = std::move(server_);
  }
  if (server == nullptr) return;
  // Calls that are running are cancelled at once.
  server->Shutdown(std::chrono::system_clock::now());
  server->Wait();
}

void FakeDaemon::Restart() {
  Start(address_);
}

v1::Entry ReadyEntry(const std::string& key_bytes, const std::string& artifact) {
  v1::Entry entry;
  entry.set_key(key_bytes);
  const Digest digest = Sha256Of(artifact);
  entry.mutable_ready()->set_digest(std::string(digest.bytes()));
  entry.mutable_ready()->set_size(artifact.size());
  entry.set_compile_time_ms(12'300);
  return entry;
}

grpc::Status HangUntilCancelled(grpc::ServerContext* context) {
  while (!context->IsCancelled()) std::this_thread::yield();
  return grpc::Status::CANCELLED;
}

}  // namespace neffcache
