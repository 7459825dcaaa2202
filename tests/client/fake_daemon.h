#pragma once

#include <grpcpp/server.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "neffcache/v1/admin.grpc.pb.h"
#include "neffcache/v1/cache.grpc.pb.h"

namespace neffcache {

// A daemon whose answers a test writes: each call runs the function of its name, UNIMPLEMENTED
// where there is none. Set them before the client calls. Listens on a loopback port of the system's
// choice.
class FakeDaemon {
 public:
  using CompileStream = grpc::ServerReaderWriter<v1::CompileEvent, v1::CompileRequest>;

  std::function<grpc::Status(const v1::LookupRequest&, v1::LookupResponse*)> lookup;
  std::function<grpc::Status(grpc::ServerContext*, CompileStream*)> compile;
  std::function<grpc::Status(grpc::ServerContext*, const v1::FetchRequest&,
                             grpc::ServerWriter<v1::FetchResponse>*)>
      fetch;
  std::function<grpc::Status(grpc::ServerReader<v1::PublishRequest>*, v1::PublishResponse*)>
      publish;
  std::function<grpc::Status(const v1::GetBundleRequest&, grpc::ServerWriter<v1::BundleKey>*)>
      get_bundle;
  std::function<grpc::Status(v1::ListToolchainsResponse*)> list_toolchains;
  std::function<grpc::Status(const v1::ResolveKeyRequest&, v1::ResolveKeyResponse*)> resolve_key;
  std::function<grpc::Status(grpc::ServerWriter<v1::Entry>*)> list_entries;
  std::function<grpc::Status(const v1::ShowKeyRequest&, v1::ShowKeyResponse*)> show_key;
  std::function<grpc::Status(const v1::RetryRequest&)> retry;
  std::function<grpc::Status(v1::Stats*)> get_stats;
  std::function<grpc::Status(const v1::ExplainRequest&, v1::ExplainResponse*)> explain;

  FakeDaemon();
  ~FakeDaemon();

  std::string address() const { return address_; }
  // Breaks every connection and stops listening.
  void Stop();
  // Listens again on the port that it had.
  void Restart();

 private:
  class CacheService;
  class AdminService;

  void Start(const std::string& address);

  std::unique_ptr<CacheService> cache_;
  std::unique_ptr<AdminService> admin_;
  absl::Mutex mutex_;
  std::unique_ptr<grpc::Server> server_ ABSL_GUARDED_BY(mutex_);
  std::string address_;
};

// A key's entry that is ready with these bytes.
v1::Entry ReadyEntry(const std::string& key_bytes, const std::string& artifact);

// Waits until the client has cancelled the call: what a daemon that hangs does.
grpc::Status HangUntilCancelled(grpc::ServerContext* context);

}  // namespace neffcache
