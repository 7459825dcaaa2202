#pragma once

#include <grpcpp/server.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "io/digest.h"
#include "neffcache/v1/worker.grpc.pb.h"

namespace neffcache {

// The daemon's side of the worker protocol on a loopback port, driven step by step by a test. It
// grants what the test says and records what the worker does. Every wait gives up after 30 s.
class FakeDaemon final : public v1::CompileWorker::Service {
 public:
  struct Report {
    v1::FinishStart start;
    std::string artifact;
    std::string log;  // Decompressed.
  };

  // Port 0: one that is free.
  explicit FakeDaemon(const std::string& listen = "127.0.0.1:0");
  ~FakeDaemon() override;

  // Frees the port.
  void Stop();

  const std::string& address() const { return address_; }

  // The worker's hello on stream number `count`, counted from 1.
  v1::WorkerHello AwaitHello(int count);
  void Send(const v1::DaemonMessage& message);
  // Grants a lease for the graph of these bytes; returns its token.
  uint64_t Grant(const std::string& graph);
  uint64_t Grant(const std::string& graph, v1::Lease lease);
  void Revoke(uint64_t token);
  void Drain();
  void BreakStream();

  // The report of this lease; false when none comes.
  bool AwaitReport(uint64_t token, Report& report);
  bool AwaitLeaving();
  bool AwaitStreamEnd();
  bool AwaitHeartbeat(uint64_t token, std::string line, uint64_t memory_at_least);
  int reports();

  // Answers from here on.
  void RefuseHellos(grpc::Status status);
  void RefuseArtifacts(grpc::Status status);
  void ForgetGraphs();
  void SendGraphsAs(const std::string& other);

  grpc::Status Work(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::DaemonMessage, v1::WorkerMessage>* stream) override;
  grpc::Status FetchGraph(grpc::ServerContext* context, const v1::FetchGraphRequest* request,
                          grpc::ServerWriter<v1::FetchGraphResponse>* writer) override;
  grpc::Status Finish(grpc::ServerContext* context, grpc::ServerReader<v1::FinishRequest>* reader,
                      v1::FinishResponse* response) override;

 private:
  template <typename Predicate>
  bool Await(const Predicate& predicate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return mu_.AwaitWithTimeout(absl::Condition(&predicate), absl::Seconds(30));
  }

  std::string address_;
  std::unique_ptr<grpc::Server> server_;

  absl::Mutex mu_;
  std::vector<v1::WorkerHello> hellos_ ABSL_GUARDED_BY(mu_);
  grpc::ServerContext* context_ ABSL_GUARDED_BY(mu_) = nullptr;  // Of the living stream.
  grpc::ServerReaderWriter<v1::DaemonMessage, v1::WorkerMessage>* stream_ ABSL_GUARDED_BY(mu_) =
      nullptr;
  bool leaving_ ABSL_GUARDED_BY(mu_) = false;
  std::map<uint64_t, v1::CompileProgress> progress_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, std::string> graphs_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, Report> reports_ ABSL_GUARDED_BY(mu_);
  uint64_t next_token_ ABSL_GUARDED_BY(mu_) = 1;
  grpc::Status hello_status_ ABSL_GUARDED_BY(mu_);
  grpc::Status artifact_status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace neffcache
