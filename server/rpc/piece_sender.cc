#include "server/rpc/piece_sender.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "io/status_macros.h"
#include "server/rpc/stored_content.h"
#include "transport/framing.h"
#include "transport/status.h"

namespace neffcache {

PieceSender::PieceSender(ServiceContext& context, Locate locate)
    : context_(context), locate_(std::move(locate)) {}

void PieceSender::Start() {
  context_.reads.Run([this, self = shared_from_this()] {
    absl::Status opened = Open();
    {
      absl::MutexLock lock(&mu_);
      reading_ = false;
      status_.Update(opened);
    }
    if (opened.ok()) {
      ReadAhead();
    } else {
      Advance();
    }
  });
}

absl::Status PieceSender::Open() {
  ASSIGN_OR_RETURN(source_, locate_());
  if (source_.asks_for_artifact) context_.counters.CountLookup();
  ASSIGN_OR_RETURN(ContentReader reader, OpenStored(context_.store, source_.kind, source_.digest));
  reader_ = std::make_shared<const ContentReader>(std::move(reader));
  size_ = reader_->stored_size();
  if (source_.offset > size_) {
    return absl::OutOfRangeError(absl::StrCat("offset ", source_.offset, " is past the end of ",
                                              source_.digest.Hex(), " (", size_, " bytes)"));
  }
  if (source_.asks_for_artifact) {
    context_.counters.CountHit(context_.store.CompileTimeOf(source_.digest));
  }
  // What is in memory came through RocksDB's own checksums; graphs and logs carry zstd's.
  const bool file = source_.kind == ContentKind::kArtifact && reader_->in_memory().empty();
  if (file && source_.offset == 0 &&
      (source_.recheck || !context_.verified.Contains(source_.digest, absl::Now()))) {
    hash_.emplace();
  }
  absl::MutexLock lock(&mu_);
  read_offset_ = source_.offset;
  return absl::OkStatus();
}

absl::Status PieceSender::Verify(absl::string_view bytes, uint64_t offset) {
  if (!hash_.has_value()) return absl::OkStatus();
  hash_->Update(bytes);
  if (offset + bytes.size() != size_) return absl::OkStatus();
  if (hash_->Finish() != source_.digest) {
    return Damaged(context_.store, source_.kind, source_.digest, "its bytes have another digest");
  }
  context_.verified.Add(source_.digest, absl::Now());
  return absl::OkStatus();
}

absl::StatusOr<PieceSender::Piece> PieceSender::ReadPieceAt(uint64_t offset) {
  const absl::string_view memory = reader_->in_memory();
  if (!memory.empty()) return Piece{memory.substr(offset, kPieceSize), reader_};
  ASSIGN_OR_RETURN(
      std::shared_ptr<const Chunk> chunk,
      context_.chunks.Get(source_.kind, source_.digest, offset, [&](std::span<char> space) {
        return reader_->ReadAt(offset,
                               space.first(std::min<uint64_t>(space.size(), size_ - offset)));
      }));
  if (chunk->bytes().empty()) {
    return Damaged(context_.store, source_.kind, source_.digest,
                   absl::StrCat("it ends at byte ", offset, " of ", size_));
  }
  RETURN_IF_ERROR(Verify(chunk->bytes(), offset));
  return Piece{chunk->bytes(), std::move(chunk)};
}

void PieceSender::ReadAhead() {
  uint64_t offset;
  {
    absl::MutexLock lock(&mu_);
    if (read_offset_ == size_) {
      // Nothing (left) to send.
      offset = size_;
    } else {
      reading_ = true;
      offset = read_offset_;
    }
  }
  if (offset != size_) {
    absl::StatusOr<Piece> piece = ReadPieceAt(offset);
    absl::MutexLock lock(&mu_);
    reading_ = false;
    if (piece.ok()) {
      read_offset_ += piece->bytes.size();
      ready_ = *std::move(piece);
    } else {
      status_.Update(piece.status());
    }
  }
  Advance();
}

void PieceSender::Advance() {
  enum class Act { kNothing, kWrite, kWriteLast, kFinish } act = Act::kNothing;
  bool read = false;
  Piece piece;
  absl::Status status;
  {
    absl::MutexLock lock(&mu_);
    if (finished_ || writing_) return;
    if (ready_.has_value() && status_.ok()) {
      piece = *std::move(ready_);
      ready_.reset();
      writing_ = true;
      const bool last = read_offset_ == size_;
      act = last ? Act::kWriteLast : Act::kWrite;
      finished_ = last;
      read = reading_ = !last;
    } else if (!reading_) {
      act = Act::kFinish;
      finished_ = true;
      status = status_;
    }
  }
  switch (act) {
    case Act::kNothing:
      return;
    case Act::kWrite:
    case Act::kWriteLast:
      context_.counters.CountServed(piece.bytes.size());
      out_ = FramePiece(piece.bytes, std::move(piece.owner));
      if (act == Act::kWriteLast) {
        StartWriteAndFinish(&out_, grpc::WriteOptions(), grpc::Status::OK);
      } else {
        StartWrite(&out_);
      }
      break;
    case Act::kFinish:
      Finish(ToGrpc(status));
      break;
  }
  if (read) {
    context_.reads.Run([this, self = shared_from_this()] { ReadAhead(); });
  }
}

void PieceSender::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    if (!ok) status_.Update(absl::CancelledError("the client went away"));
  }
  Advance();
}

void PieceSender::OnCancel() {
  absl::MutexLock lock(&mu_);
  status_.Update(absl::CancelledError("the client went away"));
}

}  // namespace neffcache
