#include "client/graph_upload.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/graph_pack.h"
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

// What stands before the graph in a pack; nothing for a graph without kernel files.
class KernelContents {
 public:
  static absl::StatusOr<KernelContents> Read(const std::vector<KernelFile>& files) {
    KernelContents contents;
    if (files.empty()) return contents;
    contents.contents_.reserve(files.size());  // The views stay valid.
    std::vector<PackedFile> packed;
    for (const KernelFile& file : files) {
      ASSIGN_OR_RETURN(std::string content, ReadRegularFile(file.path, kMaxKernelFileBytes));
      if (Sha256Of(content) != file.digest) {
        return absl::FailedPreconditionError(
            absl::StrCat("the kernel file ", file.path, " changed since its graph was identified"));
      }
      contents.contents_.push_back(std::move(content));
      packed.push_back({file.path, contents.contents_.back()});
    }
    contents.head_ = GraphPackHead(packed);
    return contents;
  }

  std::vector<absl::string_view> parts() const {
    std::vector<absl::string_view> parts = {head_};
    parts.insert(parts.end(), contents_.begin(), contents_.end());
    return parts;
  }

 private:
  std::string head_;
  std::vector<std::string> contents_;
};

absl::StatusOr<bool> BeginsAsPack(const Fd& file, const std::string& path) {
  std::array<char, 64> begin;
  ASSIGN_OR_RETURN(const size_t n, ReadAt(file.get(), 0, begin, path));
  return IsGraphPack(absl::string_view(begin.data(), n));
}

}  // namespace

absl::Status UploadGraph(const std::string& path, const std::vector<KernelFile>& files,
                         absl::FunctionRef<bool(const v1::CompileRequest&)> send,
                         absl::FunctionRef<void(uint64_t)> on_bytes) {
  ASSIGN_OR_RETURN(const Fd file, OpenForRead(path));
  ASSIGN_OR_RETURN(const bool is_pack, BeginsAsPack(file, path));
  // A kept graph that was fetched has its files with it already.
  ASSIGN_OR_RETURN(const KernelContents kernels,
                   KernelContents::Read(is_pack ? std::vector<KernelFile>() : files));
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPieceSize);
  ZstdCompressor compressor;
  PieceSender sender(send);
  const auto sink = [&sender](absl::string_view bytes) { return sender.Write(bytes); };
  const auto gone_is_ok = [](const absl::Status& status) {
    return absl::IsCancelled(status) ? absl::OkStatus() : status;
  };

  Sha256 hash;
  uint64_t size = 0;
  const auto write = [&](absl::string_view bytes) {
    hash.Update(bytes);
    size += bytes.size();
    return compressor.Write(bytes, sink);
  };
  for (const absl::string_view part : kernels.parts()) {
    for (absl::string_view rest = part; !rest.empty();) {
      const absl::string_view bytes = rest.substr(0, kPieceSize);
      rest.remove_prefix(bytes.size());
      if (absl::Status status = write(bytes); !status.ok()) return gone_is_ok(status);
      on_bytes(size);
    }
  }
  const uint64_t before_graph = size;
  for (;;) {
    ASSIGN_OR_RETURN(const size_t n,
                     ReadAt(file.get(), size - before_graph, {buffer.get(), kPieceSize}, path));
    if (n == 0) break;
    const absl::string_view bytes(buffer.get(), n);
    if (absl::Status status = write(bytes); !status.ok()) return gone_is_ok(status);
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
