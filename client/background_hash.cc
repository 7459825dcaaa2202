#include "client/background_hash.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "transport/framing.h"

namespace neffcache {

BackgroundHash::BackgroundHash() : thread_([this] { Run(); }) {}

BackgroundHash::~BackgroundHash() {
  absl::MutexLock lock(&mutex_);
  // Without Finish() nobody wants the digest.
  queue_.clear();
  ended_ = true;
}

void BackgroundHash::Add(const grpc::ByteBuffer& piece) {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &BackgroundHash::HasRoom));
  queue_.push_back(piece);
}

Digest BackgroundHash::Finish() {
  {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  thread_.join();
  return hash_.Finish();
}

void BackgroundHash::Run() {
  for (;;) {
    grpc::ByteBuffer piece;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &BackgroundHash::HasWork));
      if (queue_.empty()) return;
      piece.Swap(&queue_.front());
      queue_.pop_front();
    }
    // A malformed piece was refused before it came here.
    ReadPiece(piece, [this](absl::string_view bytes) {
      hash_.Update(bytes);
      return absl::OkStatus();
    }).IgnoreError();
  }
}

}  // namespace neffcache
