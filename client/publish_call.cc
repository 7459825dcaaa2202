#include "client/publish_call.h"

#include <grpcpp/support/sync_stream.h>

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/stall_watchdog.h"
#include "client/wire.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "neffcache/v1/cache.grpc.pb.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

struct MeasuredFile {
  Fd fd;
  Digest digest;
  uint64_t size = 0;
};

absl::StatusOr<MeasuredFile> Measure(const std::string& path, std::string& buffer) {
  MeasuredFile file;
  ASSIGN_OR_RETURN(file.fd, OpenForRead(path));
  Sha256 hash;
  for (;;) {
    ASSIGN_OR_RETURN(const size_t n,
                     ReadAt(file.fd.get(), file.size, {buffer.data(), buffer.size()}, path));
    if (n == 0) break;
    hash.Update({buffer.data(), n});
    file.size += n;
  }
  if (file.size == 0) {
    return absl::InvalidArgumentError(absl::StrCat("publishing ", path, ": it is empty"));
  }
  file.digest = hash.Finish();
  return file;
}

v1::PublishStart Start(const Daemon& daemon, const IdentifiedSpec& spec, const MeasuredFile& file,
                       absl::Duration compile_time) {
  v1::PublishStart start;
  *start.mutable_material() = ToProto(spec.material);
  start.mutable_artifact()->set_digest(file.digest.bytes().data(), Digest::kSize);
  start.mutable_artifact()->set_size(file.size);
  start.set_compile_time_ms(absl::ToInt64Milliseconds(compile_time));
  start.set_bundle(spec.spec.bundle);
  start.set_client(daemon.options().name);
  return start;
}

}  // namespace

absl::StatusOr<bool> PublishThrough(Daemon& daemon, const IdentifiedSpec& spec,
                                    const std::string& artifact_path, absl::Duration compile_time) {
  const std::string doing = absl::StrCat("publishing ", artifact_path);
  if (!spec.uncacheable_reason.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(doing, ": it cannot be cached: ", spec.uncacheable_reason));
  }
  std::string buffer(kPieceSize, '\0');
  ASSIGN_OR_RETURN(const MeasuredFile file, Measure(artifact_path, buffer));

  Daemon::BulkConnection connection(daemon);
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, connection.Connect());
  const auto stub = v1::GraphCache::NewStub(channel);
  const auto context = daemon.NewCall(absl::InfiniteDuration());
  StallWatchdog::Watch watch(daemon.watchdog(), context, daemon.options().stall_timeout);
  v1::PublishResponse response;
  const auto stream = stub->Publish(context.get(), &response);

  v1::PublishRequest request;
  *request.mutable_start() = Start(daemon, spec, file, compile_time);
  // False once the daemon has answered, or is gone: Finish() tells which.
  bool open = watch.During([&] { return stream->Write(request); });
  for (uint64_t offset = 0; open && offset < file.size;) {
    absl::StatusOr<size_t> n =
        ReadAt(file.fd.get(), offset, {buffer.data(), buffer.size()}, artifact_path);
    if (!n.ok() || *n == 0) {
      context->TryCancel();
      stream->Finish();
      return n.ok() ? absl::DataLossError(absl::StrCat(doing, ": it shrank meanwhile"))
                    : n.status();
    }
    request.set_data(buffer.data(), *n);
    open = watch.During([&] { return stream->Write(request); });
    offset += *n;
  }
  if (open) stream->WritesDone();
  RETURN_IF_ERROR(daemon.Error(watch.During([&] { return stream->Finish(); }), doing, watch));
  return response.accepted();
}

}  // namespace neffcache
