#include "server/rpc/fetch.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "neffcache/v1/cache.pb.h"
#include "neffcache/v1/worker.pb.h"
#include "server/rpc/from_wire.h"
#include "server/rpc/piece_sender.h"

namespace neffcache {
namespace {

template <typename Message>
absl::StatusOr<Message> Parse(const grpc::ByteBuffer& buffer) {
  // The reader wants a mutable buffer; copying one copies references only.
  grpc::ByteBuffer readable(buffer);
  grpc::ProtoBufferReader reader(&readable);
  Message message;
  if (!reader.status().ok() || !message.ParseFromZeroCopyStream(&reader)) {
    return absl::InvalidArgumentError(absl::StrCat("not a ", message.GetTypeName()));
  }
  return message;
}

absl::StatusOr<PieceSource> SourceOf(const v1::FetchRequest& request) {
  PieceSource source;
  switch (request.kind()) {
    case v1::FetchRequest::KIND_ARTIFACT:
      source.kind = ContentKind::kArtifact;
      break;
    case v1::FetchRequest::KIND_GRAPH:
      source.kind = ContentKind::kGraph;
      break;
    case v1::FetchRequest::KIND_LOG:
      source.kind = ContentKind::kLog;
      break;
    default:
      return absl::InvalidArgumentError("kind: not set or unknown");
  }
  ASSIGN_OR_RETURN(source.digest, DigestFromWire(request.digest(), "digest"));
  source.offset = request.offset();
  // A resumed or repeated download has counted before.
  source.asks_for_artifact = source.kind == ContentKind::kArtifact && source.offset == 0 &&
                             !request.of_compile() && !request.recheck();
  source.recheck = request.recheck();
  return source;
}

absl::StatusOr<PieceSource> SourceOf(const CompileDispatcher& dispatcher,
                                     const v1::FetchGraphRequest& request) {
  ASSIGN_OR_RETURN(const Lease lease, dispatcher.FindLease(request.worker_id(), request.token()));
  return PieceSource{.kind = ContentKind::kGraph, .digest = lease.graph.digest};
}

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartFetch(ServiceContext& context,
                                                       const grpc::ByteBuffer& request) {
  return PieceSender::Create(
      context, [parsed = Parse<v1::FetchRequest>(request)]() -> absl::StatusOr<PieceSource> {
        if (!parsed.ok()) return parsed.status();
        return SourceOf(*parsed);
      });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartFetchGraph(ServiceContext& context,
                                                            const grpc::ByteBuffer& request) {
  return PieceSender::Create(
      context,
      [&context, parsed = Parse<v1::FetchGraphRequest>(request)]() -> absl::StatusOr<PieceSource> {
        if (!parsed.ok()) return parsed.status();
        return SourceOf(context.dispatcher, *parsed);
      });
}

}  // namespace neffcache
