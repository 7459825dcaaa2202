#include "compiler_driver/daemon_calls.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "io/utf8.h"
#include "io/zstd.h"
#include "neffcache/v1/worker.grpc.pb.h"
#include "transport/channel.h"
#include "transport/limits.h"
#include "transport/status.h"

namespace neffcache {
namespace {

constexpr int kFinishAttempts = 3;
// A call takes at most this, and a second for each MiB besides: slow is no reason to give up a
// compile of an hour, silence is (keep-alive sees to that as well).
constexpr auto kCallLimit = std::chrono::minutes(2);

std::chrono::system_clock::time_point Deadline(uint64_t bytes) {
  return std::chrono::system_clock::now() + kCallLimit + std::chrono::seconds(bytes >> 20);
}

using FinishWriter = grpc::ClientWriter<v1::FinishRequest>;

v1::FailureClass ToProto(CompileFailureClass failure_class) {
  switch (failure_class) {
    case CompileFailureClass::kDeterministic:
      return v1::FAILURE_CLASS_DETERMINISTIC;
    case CompileFailureClass::kMemory:
      return v1::FAILURE_CLASS_MEMORY;
    case CompileFailureClass::kTransient:
      return v1::FAILURE_CLASS_TRANSIENT;
    case CompileFailureClass::kUnclear:
      return v1::FAILURE_CLASS_UNCLEAR;
  }
  return v1::FAILURE_CLASS_UNCLEAR;
}

v1::FinishRequest StartMessage(uint64_t worker_id, const WorkLease& lease,
                               const CompileOutcome& outcome) {
  v1::FinishRequest request;
  v1::FinishStart& start = *request.mutable_start();
  start.set_worker_id(worker_id);
  start.set_token(lease.token);
  start.set_compile_time_ms(absl::ToInt64Milliseconds(outcome.compile_time));
  start.set_peak_memory_bytes(outcome.peak_memory_bytes);
  if (const CompiledArtifact* artifact = outcome.artifact()) {
    const absl::string_view digest = artifact->digest.bytes();
    start.mutable_artifact()->set_digest(digest.data(), digest.size());
    start.mutable_artifact()->set_size(artifact->size);
    return request;
  }
  const auto& failure = std::get<CompileFailure>(outcome.result);
  v1::Failure& message = *start.mutable_failure();
  message.set_failure_class(ToProto(failure.failure_class));
  message.set_message(ToUtf8(failure.message));
  message.set_exit_code(failure.exit_code);
  message.set_signal(failure.signal);
  message.set_log_tail(outcome.log_tail);
  return request;
}

// Errors are of reading the file; that the daemon hangs up shows in the call's status.
absl::Status SendArtifact(FinishWriter& writer, const CompiledArtifact& artifact) {
  ASSIGN_OR_RETURN(const Fd fd, OpenForRead(artifact.path));
  std::vector<char> piece(kPieceSize);
  for (uint64_t offset = 0; offset < artifact.size;) {
    ASSIGN_OR_RETURN(const size_t n,
                     ReadAt(fd.get(), offset, std::span<char>(piece), artifact.path));
    if (n == 0) return absl::DataLossError(absl::StrCat(artifact.path, " has become shorter"));
    v1::FinishRequest request;
    request.set_artifact(piece.data(), n);
    if (!writer.Write(request)) return absl::OkStatus();
    offset += n;
  }
  return absl::OkStatus();
}

void SendLog(FinishWriter& writer, absl::string_view log) {
  if (log.empty()) return;
  const std::string compressed = ZstdCompress(log);
  for (absl::string_view rest = compressed; !rest.empty();) {
    const absl::string_view piece = rest.substr(0, kPieceSize);
    v1::FinishRequest request;
    request.set_log(piece.data(), piece.size());
    if (!writer.Write(request)) return;
    rest.remove_prefix(piece.size());
  }
}

}  // namespace

DaemonCalls::DaemonCalls(const std::string& address, uint64_t worker_id)
    : channel_(OpenChannel(address, Connection::kOwn)), worker_id_(worker_id) {}

absl::Status DaemonCalls::FetchGraph(const WorkLease& lease, const std::string& path,
                                     const std::stop_token& stop) {
  const std::string doing = absl::StrCat("fetching the graph of ", lease.key);
  const auto stub = v1::CompileWorker::NewStub(channel_);
  grpc::ClientContext context;
  context.set_deadline(Deadline(lease.graph_size));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });

  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, 0600));
  Sha256 hash;
  uint64_t size = 0;
  const auto sink = [&](absl::string_view bytes) {
    hash.Update(bytes);
    size += bytes.size();
    return file.Write(bytes);
  };
  ZstdDecompressor decompressor(lease.graph_size);
  v1::FetchGraphRequest request;
  request.set_worker_id(worker_id_);
  request.set_token(lease.token);
  const auto reader = stub->FetchGraph(&context, request);
  v1::FetchGraphResponse response;
  absl::Status written;
  while (written.ok() && reader->Read(&response)) {
    written = decompressor.Write(response.data(), sink);
  }
  if (!written.ok()) context.TryCancel();
  const absl::Status call = FromGrpc(reader->Finish(), doing);
  if (!written.ok()) {
    return absl::Status(written.code(), absl::StrCat(doing, ": ", written.message()));
  }
  RETURN_IF_ERROR(call);
  if (const absl::Status ended = decompressor.Finish(); !ended.ok()) {
    return absl::Status(ended.code(), absl::StrCat(doing, ": ", ended.message()));
  }
  const Digest digest = hash.Finish();
  if (size != lease.graph_size || digest != lease.graph_digest) {
    return absl::DataLossError(absl::StrCat(doing, ": got ", size, " bytes with digest ",
                                            digest.Hex(), " instead of ", lease.graph_size,
                                            " with ", lease.graph_digest.Hex()));
  }
  return file.Commit(Durability::kBuffered);
}

absl::StatusOr<bool> DaemonCalls::FinishOnce(const WorkLease& lease, const CompileOutcome& outcome,
                                             const std::stop_token& stop, Attempt attempt) {
  const CompiledArtifact* artifact = outcome.artifact();
  const auto stub = v1::CompileWorker::NewStub(channel_);
  grpc::ClientContext context;
  context.set_deadline(Deadline(artifact == nullptr ? 0 : artifact->size));
  context.set_wait_for_ready(attempt == Attempt::kAgain);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });

  v1::FinishResponse response;
  const auto writer = stub->Finish(&context, &response);
  absl::Status sent;
  if (writer->Write(StartMessage(worker_id_, lease, outcome))) {
    if (artifact != nullptr) sent = SendArtifact(*writer, *artifact);
    if (sent.ok()) SendLog(*writer, outcome.log);
  }
  if (sent.ok()) {
    writer->WritesDone();
  } else {
    context.TryCancel();
  }
  const absl::Status call =
      FromGrpc(writer->Finish(), absl::StrCat("reporting the compile of ", lease.key));
  RETURN_IF_ERROR(sent);
  RETURN_IF_ERROR(call);
  return response.committed();
}

absl::StatusOr<bool> DaemonCalls::Finish(const WorkLease& lease, const CompileOutcome& outcome,
                                         const std::stop_token& stop) {
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<bool> committed =
        FinishOnce(lease, outcome, stop, attempt == 1 ? Attempt::kFirst : Attempt::kAgain);
    if (!absl::IsUnavailable(committed.status()) || attempt == kFinishAttempts) return committed;
  }
}

}  // namespace neffcache
