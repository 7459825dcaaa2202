#include "client/fetch_call.h"

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/verified_file.h"
#include "io/status_macros.h"
#include "io/zstd.h"
#include "transport/framing.h"

namespace neffcache {
namespace {

// `damaged`: all of it came, and is not what it should be.
absl::Status FetchOnce(Daemon& daemon, const DownloadRequest& request, uint64_t size,
                       const std::string& path, ShouldStop should_stop, bool& damaged) {
  // First, so that an output that cannot be written costs no download.
  ASSIGN_OR_RETURN(const std::unique_ptr<VerifiedFile> file,
                   VerifiedFile::Create(path, request.digest, size));
  RETURN_IF_ERROR(Download(
      daemon, request, [&](const grpc::ByteBuffer& piece) { return file->Append(piece); },
      should_stop));
  absl::Status committed = file->Commit();
  damaged = absl::IsDataLoss(committed);
  return committed;
}

}  // namespace

absl::Status FetchVerified(Daemon& daemon, const ArtifactName& artifact, const std::string& path,
                           NamedBy named_by, ShouldStop should_stop, Acquaintance acquaintance) {
  DownloadRequest request;
  request.acquaintance = acquaintance;
  request.kind = v1::FetchRequest::KIND_ARTIFACT;
  request.doing = absl::StrCat("fetching artifact ", artifact.digest);
  absl::StatusOr<Digest> digest = Digest::FromHex(artifact.digest);
  if (!digest.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.doing, ": it is not named by 64 hex digits"));
  }
  request.digest = *digest;
  request.of_compile = named_by == NamedBy::kCompile;
  bool damaged = false;
  absl::Status fetched = FetchOnce(daemon, request, artifact.size, path, should_stop, damaged);
  if (!damaged) return fetched;
  // Damaged there, which the daemon finds out now, or on its way, and then this brings it whole.
  request.recheck = true;
  return FetchOnce(daemon, request, artifact.size, path, should_stop, damaged);
}

absl::Status FetchDecompressed(Daemon& daemon, v1::FetchRequest::Kind kind, const Digest& digest,
                               uint64_t limit,
                               absl::FunctionRef<absl::Status(absl::string_view)> sink,
                               ShouldStop should_stop) {
  DownloadRequest request;
  request.acquaintance = Acquaintance::kDaemonWasThere;
  request.kind = kind;
  request.digest = digest;
  request.doing = absl::StrCat("fetching ", kind == v1::FetchRequest::KIND_LOG ? "log " : "graph ",
                               digest.Hex());
  ZstdDecompressor decompressor(limit);
  Sha256 hash;
  const auto take = [&](absl::string_view bytes) {
    hash.Update(bytes);
    return sink(bytes);
  };
  const auto decompress = [&](const grpc::ByteBuffer& piece) {
    return ReadPiece(
        piece, [&](absl::string_view compressed) { return decompressor.Write(compressed, take); });
  };
  RETURN_IF_ERROR(Download(daemon, request, decompress, should_stop));
  absl::Status status = decompressor.Finish();
  if (status.ok() && hash.Finish() != digest) {
    status = absl::DataLossError("the bytes do not have that digest");
  }
  return daemon.Error(status, request.doing);
}

}  // namespace neffcache
