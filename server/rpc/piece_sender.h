#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "io/digest.h"
#include "server/rpc/self_owned.h"
#include "server/rpc/service_context.h"

namespace neffcache {

// Where the pieces of a stream come from.
struct PieceSource {
  ContentKind kind = ContentKind::kArtifact;
  Digest digest;
  uint64_t offset = 0;
  bool asks_for_artifact = false;  // Counts as a lookup, and as a hit when it is there.
  bool recheck = false;            // Hash it even though it was lately found to be good.
};

// Streams stored content as hand-framed pieces: the reactor of Fetch and FetchGraph.
//
// One piece is on its way while the next is read ahead on the executor. Content that the store
// keeps in memory is framed straight from there. An artifact that is missing, short or, as the
// first whole reading of its file finds, not what its digest says, is quarantined and ends the
// stream with DATA_LOSS before its last piece. A recheck hashes what is sent and nothing else, so
// nobody can have more hashed than is sent to him.
class PieceSender final
    : public SelfOwned<grpc::ServerWriteReactor<grpc::ByteBuffer>, PieceSender> {
 public:
  // `locate` says what to send; it is called on the executor and may block.
  using Locate = absl::AnyInvocable<absl::StatusOr<PieceSource>()>;
  PieceSender(ServiceContext& context, Locate locate);

  void Start();

  void OnWriteDone(bool ok) override;
  // The next OnWriteDone or the reading thread sees the cancellation.
  void OnCancel() override;

 private:
  struct Piece {
    absl::string_view bytes;
    std::shared_ptr<const void> owner;
  };

  absl::Status Open();
  absl::StatusOr<Piece> ReadPieceAt(uint64_t offset);
  // Hashes the piece at `offset` and, after the last one, compares.
  absl::Status Verify(absl::string_view bytes, uint64_t offset);
  void ReadAhead();
  // Does whatever is possible now: the next write, the next read, the end.
  void Advance() ABSL_LOCKS_EXCLUDED(mu_);

  ServiceContext& context_;
  Locate locate_;

  // Constant once opened.
  PieceSource source_;
  std::shared_ptr<const ContentReader> reader_;
  uint64_t size_ = 0;

  // Touched by the one read that is under way. Empty: what is sent needs no check here.
  absl::optional<Sha256> hash_;

  absl::Mutex mu_;
  uint64_t read_offset_ ABSL_GUARDED_BY(mu_) = 0;  // Where the next read begins.
  absl::optional<Piece> ready_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  bool reading_ ABSL_GUARDED_BY(mu_) = true;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;

  grpc::ByteBuffer out_;  // Of the write under way.
};

}  // namespace neffcache
