#include "tests/compiler_driver/fake_daemon.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/zstd.h"
#include "transport/channel.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

constexpr int64_t kHeartbeatMs = 20;
constexpr uint64_t kLogLimit = 64 << 20;

}  // namespace

FakeDaemon::FakeDaemon(const std::string& listen) {
  grpc::ServerBuilder builder;
  int port = 0;
  ApplyTransportArguments(builder);
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
}

FakeDaemon::~FakeDaemon() {
  Stop();
}

void FakeDaemon::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
}

v1::WorkerHello FakeDaemon::AwaitHello(int count) {
  absl::MutexLock lock(&mu_);
  const size_t wanted = static_cast<size_t>(count);
  const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return hellos_.size() >= wanted && stream_ != nullptr;
  };
  return Await(there) ? hellos_[wanted - 1] : v1::WorkerHello();
}

void FakeDaemon::Send(const v1::DaemonMessage& message) {
  // Held over the write so that the stream lives as long: a test's luxury.
  absl::MutexLock lock(&mu_);
  if (stream_ != nullptr) stream_->Write(message);
}

uint64_t FakeDaemon::Grant(const std::string& graph) {
  v1::Lease lease;
  lease.mutable_toolchain()->set_name("neuronx-cc");
  lease.mutable_toolchain()->set_version("2.14.227.0+2d4f85be");
  lease.add_options("--target=trn1");
  return Grant(graph, lease);
}

uint64_t FakeDaemon::Grant(const std::string& graph, v1::Lease lease) {
  v1::DaemonMessage message;
  {
    absl::MutexLock lock(&mu_);
    lease.set_token(next_token_++);
    graphs_[lease.token()] = graph;
  }
  const Digest digest = Sha256Of(graph);
  lease.set_key(std::string(digest.bytes()));
  lease.set_graph_digest(std::string(digest.bytes()));
  lease.set_graph_size(graph.size());
  if (lease.output_limit_bytes() == 0) lease.set_output_limit_bytes(64 << 20);
  *message.mutable_lease() = lease;
  Send(message);
  return lease.token();
}

void FakeDaemon::Revoke(uint64_t token) {
  v1::DaemonMessage message;
  message.mutable_revoked()->set_token(token);
  message.mutable_revoked()->set_reason("a test");
  Send(message);
}

void FakeDaemon::Drain() {
  v1::DaemonMessage message;
  message.mutable_drain()->set_reason("a test");
  Send(message);
}

void FakeDaemon::BreakStream() {
  absl::MutexLock lock(&mu_);
  if (context_ != nullptr) context_->TryCancel();
}

bool FakeDaemon::AwaitReport(uint64_t token, Report& report) {
  absl::MutexLock lock(&mu_);
  const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return reports_.count(token) > 0; };
  if (!Await(there)) return false;
  report = reports_[token];
  return true;
}

bool FakeDaemon::AwaitLeaving() {
  absl::MutexLock lock(&mu_);
  const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return leaving_; };
  return Await(there);
}

bool FakeDaemon::AwaitStreamEnd() {
  absl::MutexLock lock(&mu_);
  const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stream_ == nullptr; };
  return Await(there);
}

bool FakeDaemon::AwaitHeartbeat(uint64_t token, std::string line, uint64_t memory_at_least) {
  absl::MutexLock lock(&mu_);
  const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto found = progress_.find(token);
    return found != progress_.end() && found->second.last_log_line() == line &&
           found->second.memory_bytes() >= memory_at_least;
  };
  return Await(there);
}

int FakeDaemon::reports() {
  absl::MutexLock lock(&mu_);
  return static_cast<int>(reports_.size());
}

void FakeDaemon::RefuseHellos(grpc::Status status) {
  absl::MutexLock lock(&mu_);
  hello_status_ = std::move(status);
}

void FakeDaemon::RefuseArtifacts(grpc::Status status) {
  absl::MutexLock lock(&mu_);
  artifact_status_ = std::move(status);
}

void FakeDaemon::ForgetGraphs() {
  absl::MutexLock lock(&mu_);
  graphs_.clear();
}

void FakeDaemon::SendGraphsAs(const std::string& other) {
  absl::MutexLock lock(&mu_);
  for (auto& [token, graph] : graphs_) graph = other;
}

grpc::Status FakeDaemon::Work(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::DaemonMessage, v1::WorkerMessage>* stream) {
  v1::WorkerMessage message;
  if (!stream->Read(&message) || !message.has_hello()) {
    return grpc::Status(grpc::INVALID_ARGUMENT, "no hello first");
  }
  {
    absl::MutexLock lock(&mu_);
    if (!hello_status_.ok()) return hello_status_;
    v1::DaemonMessage welcome;
    welcome.mutable_welcome()->set_worker_id(hellos_.size() + 1);
    welcome.mutable_welcome()->set_heartbeat_interval_ms(kHeartbeatMs);
    stream->Write(welcome);
    hellos_.push_back(message.hello());
    context_ = context;
    stream_ = stream;
  }
  while (stream->Read(&message)) {
    absl::MutexLock lock(&mu_);
    if (message.has_leaving()) leaving_ = true;
    for (const v1::CompileProgress& compile : message.heartbeat().compiles()) {
      progress_[compile.token()] = compile;
    }
  }
  absl::MutexLock lock(&mu_);
  context_ = nullptr;
  stream_ = nullptr;
  return grpc::Status::OK;
}

grpc::Status FakeDaemon::FetchGraph(grpc::ServerContext*, const v1::FetchGraphRequest* request,
                                    grpc::ServerWriter<v1::FetchGraphResponse>* writer) {
  std::string compressed;
  {
    absl::MutexLock lock(&mu_);
    const auto found = graphs_.find(request->token());
    if (found == graphs_.end()) return grpc::Status(grpc::NOT_FOUND, "the lease is void");
    compressed = ZstdCompress(found->second);
  }
  for (size_t at = 0; at < compressed.size(); at += kPieceSize) {
    v1::FetchGraphResponse piece;
    piece.set_data(compressed.substr(at, kPieceSize));
    writer->Write(piece);
  }
  return grpc::Status::OK;
}

grpc::Status FakeDaemon::Finish(grpc::ServerContext*, grpc::ServerReader<v1::FinishRequest>* reader,
                                v1::FinishResponse* response) {
  v1::FinishRequest request;
  if (!reader->Read(&request) || !request.has_start()) {
    return grpc::Status(grpc::INVALID_ARGUMENT, "no start first");
  }
  Report report;
  report.start = request.start();
  if (report.start.has_artifact()) {
    absl::MutexLock lock(&mu_);
    if (!artifact_status_.ok()) return artifact_status_;
  }
  std::string compressed;
  while (reader->Read(&request)) {
    const size_t piece = std::max(request.artifact().size(), request.log().size());
    if (piece > kPieceSize) return grpc::Status(grpc::INVALID_ARGUMENT, "piece too large");
    report.artifact += request.artifact();
    compressed += request.log();
  }
  if (!compressed.empty()) {
    absl::StatusOr<std::string> log = ZstdDecompress(compressed, kLogLimit);
    if (!log.ok()) return grpc::Status(grpc::INVALID_ARGUMENT, "damaged log");
    report.log = *std::move(log);
  }
  absl::MutexLock lock(&mu_);
  const uint64_t token = report.start.token();
  reports_[token] = std::move(report);
  response->set_committed(true);
  return grpc::Status::OK;
}

}  // namespace neffcache
