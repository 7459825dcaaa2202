#include "client/download.h"

#include <grpcpp/support/sync_stream.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "client/reconnect_window.h"
#include "client/stall_watchdog.h"
#include "io/status_macros.h"
#include "neffcache/v1/cache.grpc.pb.h"
#include "transport/framing.h"

namespace neffcache {
namespace {

// A stream that ended this way may go on after a new start: the daemon or the network between went
// away, or went silent.
bool IsBreak(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsInternal(status) || absl::IsUnknown(status);
}

absl::StatusOr<uint64_t> PieceSize(const grpc::ByteBuffer& piece) {
  uint64_t size = 0;
  RETURN_IF_ERROR(ReadPiece(piece, [&size](absl::string_view bytes) {
    size += bytes.size();
    return absl::OkStatus();
  }));
  return size;
}

class Downloader {
 public:
  using Sink = absl::FunctionRef<absl::Status(const grpc::ByteBuffer&)>;

  Downloader(Daemon& daemon, const DownloadRequest& request, Sink sink, ShouldStop should_stop)
      : daemon_(daemon),
        request_(request),
        sink_(sink),
        should_stop_(should_stop),
        connection_(daemon),
        window_(daemon.NewReconnectWindow()),
        known_(request.acquaintance == Acquaintance::kDaemonWasThere) {}

  absl::Status Run() {
    for (int fruitless = 0;;) {
      const uint64_t before = offset_;
      absl::Status status = Attempt();
      if (status.ok() || final_ || !IsBreak(status)) return status;
      const bool progressed = offset_ > before;
      known_ = known_ || progressed;
      if (!known_) return status;
      fruitless = progressed ? 0 : fruitless + 1;
      // What the daemon itself finds wrong, or its silence, is not cured by time.
      absl::optional<absl::Duration> delay = window_.AfterBreak(
          absl::Now(), progressed ? absl::InfiniteDuration() : absl::ZeroDuration());
      if (!delay.has_value() || !absl::IsUnavailable(status)) {
        if (fruitless >= kFruitlessAttempts) return status;
        delay = absl::ZeroDuration();
      }
      if (daemon_.watchdog().WaitForBreakOff(*delay) || should_stop_()) return Interrupted();
    }
  }

 private:
  // One stream from the offset on.
  absl::Status Attempt() {
    ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, connection_.Connect());
    v1::FetchRequest fetch;
    fetch.set_kind(request_.kind);
    fetch.set_digest(request_.digest.bytes().data(), Digest::kSize);
    fetch.set_offset(offset_);
    fetch.set_of_compile(request_.of_compile);
    fetch.set_recheck(request_.recheck);

    // What generated code does, but for messages that are left unparsed: protobuf would copy every
    // byte.
    const grpc::internal::RpcMethod method("/neffcache.v1.GraphCache/Fetch",
                                           grpc::internal::RpcMethod::SERVER_STREAMING, channel);
    const auto context = daemon_.NewCall(absl::InfiniteDuration());
    StallWatchdog::Watch watch(daemon_.watchdog(), context, daemon_.options().stall_timeout);
    const std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> stream(
        grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(channel.get(), method,
                                                                      context.get(), fetch));
    grpc::ByteBuffer piece;
    while (watch.During([&] { return stream->Read(&piece); })) {
      if (absl::Status status = Take(piece); !status.ok()) {
        context->TryCancel();
        stream->Finish();
        final_ = true;
        return status;
      }
      piece.Clear();
    }
    return daemon_.Error(watch.During([&] { return stream->Finish(); }), request_.doing, watch);
  }

  absl::Status Take(const grpc::ByteBuffer& piece) {
    if (should_stop_()) return Interrupted();
    absl::StatusOr<uint64_t> size = PieceSize(piece);
    if (!size.ok()) return daemon_.Error(std::move(size).status(), request_.doing);
    RETURN_IF_ERROR(sink_(piece));
    offset_ += *size;
    return absl::OkStatus();
  }

  absl::Status Interrupted() const {
    return absl::CancelledError(absl::StrCat(request_.doing, ": interrupted"));
  }

  Daemon& daemon_;
  const DownloadRequest& request_;
  const Sink sink_;
  const ShouldStop should_stop_;
  Daemon::BulkConnection connection_;
  ReconnectWindow window_;
  bool known_;  // The daemon was there.
  uint64_t offset_ = 0;
  bool final_ = false;
};

}  // namespace

absl::Status Download(Daemon& daemon, const DownloadRequest& request,
                      absl::FunctionRef<absl::Status(const grpc::ByteBuffer&)> sink,
                      ShouldStop should_stop) {
  Downloader downloader(daemon, request, sink, should_stop);
  return downloader.Run();
}

}  // namespace neffcache
