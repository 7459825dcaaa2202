#include "client/graph_upload.h"

#include <algorithm>
#include <memory>

#include "absl/strings/string_view.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "io/zstd.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

// Gathers compressed bytes into pieces of the protocol's size.
class PieceSender {
 public:
  explicit PieceSender(absl::FunctionRef<bool(const v1::CompileRequest&)> send) : send_(send) {}

  // CANCELLED once the stream is gone.
  absl::Status Write(absl::string_view bytes) {
    while (!bytes.empty()) {
      std::string* piece = request_.mutable_graph()->mutable_data();
      const size_t part = std::min(bytes.size(), kPieceSize - piece->size());
      piece->append(bytes.data(), part);
      bytes.remove_prefix(part);
      if (piece->size() == kPieceSize) RETURN_IF_ERROR(Flush());
    }
    return absl::OkStatus();
  }

  absl::Status Flush() {
    if (request_.graph().data().empty()) return absl::OkStatus();
    if (!send_(request_)) return absl::CancelledError("the stream is gone");
    request_.mutable_graph()->mutable_data()->clear();  // Keeps its memory for the next piece.
    return absl::OkStatus();
  }

 private:
  const absl::FunctionRef<bool(const v1::CompileRequest&)> send_;
  v1::CompileRequest request_;
};

}  // namespace

absl::Status UploadGraph(const std::string& path,
                         absl::FunctionRef<bool(const v1::CompileRequest&)> send,
                         absl::FunctionRef<void(uint64_t)> on_bytes) {
  ASSIGN_OR_RETURN(const Fd file, OpenForRead(path));
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPieceSize);
  ZstdCompressor compressor;
  PieceSender sender(send);
  const auto sink = [&sender](absl::string_view bytes) { return sender.Write(bytes); };
  const auto gone_is_ok = [](const absl::Status& status) {
    return absl::IsCancelled(status) ? absl::OkStatus() : status;
  };

  Sha256 hash;
  uint64_t size = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const size_t n, ReadAt(file.get(), size, {buffer.get(), kPieceSize}, path));
    if (n == 0) break;
    const absl::string_view bytes(buffer.get(), n);
    hash.Update(bytes);
    if (absl::Status status = compressor.Write(bytes, sink); !status.ok()) {
      return gone_is_ok(status);
    }
    size += n;
    on_bytes(size);
  }
  absl::Status status = compressor.Finish(sink);
  if (status.ok()) status = sender.Flush();
  if (!status.ok()) return gone_is_ok(status);

  v1::CompileRequest end;
  end.mutable_graph_end()->set_size(size);
  const Digest digest = hash.Finish();
  end.mutable_graph_end()->set_digest(digest.bytes().data(), digest.bytes().size());
  send(end);
  return absl::OkStatus();
}

}  // namespace neffcache
