#include "server/rpc/services.h"

#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "neffcache/v1/admin.grpc.pb.h"
#include "neffcache/v1/cache.grpc.pb.h"
#include "neffcache/v1/worker.grpc.pb.h"
#include "server/rpc/admin_queries.h"
#include "server/rpc/bundles.h"
#include "server/rpc/compile.h"
#include "server/rpc/fetch.h"
#include "server/rpc/lookup.h"
#include "server/rpc/publish.h"
#include "server/rpc/worker_finish.h"
#include "server/rpc/worker_stream.h"
#include "server/store/entry_messages.h"
#include "transport/status.h"

namespace neffcache {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// Runs a call that blocks on the executor; its request and response live until it finishes.
ServerUnaryReactor* Answer(ServiceContext& context, CallbackServerContext& call,
                           absl::AnyInvocable<absl::Status()> work) {
  ServerUnaryReactor* reactor = call.DefaultReactor();
  context.reads.Run(
      [reactor, work = std::move(work)]() mutable { reactor->Finish(ToGrpc(work())); });
  return reactor;
}

// Fetch is "raw": its answers are framed by hand. The other methods are generated.
template <typename Base>
using GraphCacheMethods = v1::GraphCache::WithCallbackMethod_Lookup<
    v1::GraphCache::WithCallbackMethod_Compile<v1::GraphCache::WithRawCallbackMethod_Fetch<
        v1::GraphCache::WithCallbackMethod_Publish<v1::GraphCache::WithCallbackMethod_ListBundles<
            v1::GraphCache::WithCallbackMethod_GetBundle<
                v1::GraphCache::WithCallbackMethod_ListToolchains<Base>>>>>>>;

class GraphCacheService final : public GraphCacheMethods<v1::GraphCache::Service> {
 public:
  explicit GraphCacheService(ServiceContext& context) : context_(context) {}

  ServerUnaryReactor* Lookup(CallbackServerContext* call, const v1::LookupRequest* request,
                             v1::LookupResponse* response) override {
    return Answer(context_, *call, [this, request, response] {
      return neffcache::Lookup(context_, *request, *response);
    });
  }
  grpc::ServerBidiReactor<v1::CompileRequest, v1::CompileEvent>* Compile(
      CallbackServerContext*) override {
    return StartCompile(context_);
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Fetch(CallbackServerContext*,
                                                    const grpc::ByteBuffer* request) override {
    return StartFetch(context_, *request);
  }
  grpc::ServerReadReactor<v1::PublishRequest>* Publish(CallbackServerContext* call,
                                                       v1::PublishResponse* response) override {
    return StartPublish(context_, *call, response);
  }
  grpc::ServerWriteReactor<v1::BundleSummary>* ListBundles(CallbackServerContext*,
                                                           const v1::ListBundlesRequest*) override {
    return StartListBundles(context_);
  }
  grpc::ServerWriteReactor<v1::BundleKey>* GetBundle(CallbackServerContext*,
                                                     const v1::GetBundleRequest* request) override {
    return StartGetBundle(context_, *request);
  }
  ServerUnaryReactor* ListToolchains(CallbackServerContext* call, const v1::ListToolchainsRequest*,
                                     v1::ListToolchainsResponse* response) override {
    return Answer(context_, *call, [this, response] {
      for (const Toolchain& toolchain : context_.dispatcher.ListToolchains()) {
        *response->add_toolchains() = ToMessage(toolchain);
      }
      return absl::OkStatus();
    });
  }

 private:
  ServiceContext& context_;
};

class CompileWorkerService final
    : public v1::CompileWorker::WithCallbackMethod_Work<
          v1::CompileWorker::WithRawCallbackMethod_FetchGraph<
              v1::CompileWorker::WithCallbackMethod_Finish<v1::CompileWorker::Service>>> {
 public:
  explicit CompileWorkerService(ServiceContext& context) : context_(context) {}

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::DaemonMessage>* Work(
      CallbackServerContext*) override {
    return StartWork(context_);
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* FetchGraph(CallbackServerContext*,
                                                         const grpc::ByteBuffer* request) override {
    return StartFetchGraph(context_, *request);
  }
  grpc::ServerReadReactor<v1::FinishRequest>* Finish(CallbackServerContext* call,
                                                     v1::FinishResponse* response) override {
    return StartFinish(context_, *call, response);
  }

 private:
  ServiceContext& context_;
};

class AdminService final : public v1::Admin::CallbackService {
 public:
  explicit AdminService(ServiceContext& context) : context_(context) {}

  ServerUnaryReactor* ResolveKey(CallbackServerContext* call, const v1::ResolveKeyRequest* request,
                                 v1::ResolveKeyResponse* response) override {
    return Answer(context_, *call, [this, request, response] {
      return neffcache::ResolveKey(context_, *request, *response);
    });
  }
  grpc::ServerWriteReactor<v1::Entry>* ListEntries(CallbackServerContext*,
                                                   const v1::ListEntriesRequest* request) override {
    return StartListEntries(context_, *request);
  }
  ServerUnaryReactor* ListCompiles(CallbackServerContext* call, const v1::ListCompilesRequest*,
                                   v1::ListCompilesResponse* response) override {
    return Answer(context_, *call,
                  [this, response] { return neffcache::ListCompiles(context_, *response); });
  }
  ServerUnaryReactor* ListWorkers(CallbackServerContext* call, const v1::ListWorkersRequest*,
                                  v1::ListWorkersResponse* response) override {
    return Answer(context_, *call,
                  [this, response] { return neffcache::ListWorkers(context_, *response); });
  }
  ServerUnaryReactor* ShowKey(CallbackServerContext* call, const v1::ShowKeyRequest* request,
                              v1::ShowKeyResponse* response) override {
    return Answer(context_, *call, [this, request, response] {
      return neffcache::ShowKey(context_, *request, *response);
    });
  }
  ServerUnaryReactor* Retry(CallbackServerContext* call, const v1::RetryRequest* request,
                            v1::RetryResponse*) override {
    return Answer(context_, *call,
                  [this, request] { return neffcache::Retry(context_, *request); });
  }
  ServerUnaryReactor* Explain(CallbackServerContext* call, const v1::ExplainRequest* request,
                              v1::ExplainResponse* response) override {
    return Answer(context_, *call, [this, request, response] {
      return neffcache::Explain(context_, *request, *response);
    });
  }
  ServerUnaryReactor* GetStats(CallbackServerContext* call, const v1::GetStatsRequest*,
                               v1::Stats* response) override {
    return Answer(context_, *call,
                  [this, response] { return neffcache::GetStats(context_, *response); });
  }

 private:
  ServiceContext& context_;
};

}  // namespace

struct Services::Parts {
  explicit Parts(ServiceContext& context)
      : graph_cache(context), compile_worker(context), admin(context) {}

  GraphCacheService graph_cache;
  CompileWorkerService compile_worker;
  AdminService admin;
};

Services::Services(ServiceContext& context) : parts_(std::make_unique<Parts>(context)) {}

Services::~Services() = default;

void Services::Register(grpc::ServerBuilder& builder) {
  builder.RegisterService(&parts_->graph_cache);
  builder.RegisterService(&parts_->compile_worker);
  builder.RegisterService(&parts_->admin);
}

}  // namespace neffcache
