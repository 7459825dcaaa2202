#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "io/digest.h"

namespace neffcache {

// Hashes a download on a thread of its own while its caller receives and writes it: hashing alone
// takes as long as both.
//
// Holds at most kMaxQueued pieces by reference, so a caller that is faster waits. Used by one
// thread.
class BackgroundHash {
 public:
  static constexpr size_t kMaxQueued = 8;

  BackgroundHash();
  ~BackgroundHash();

  // Pieces as the transport gives them, well-formed (transport/framing.h), in order.
  void Add(const grpc::ByteBuffer& piece);
  // Waits for all that was added. Called at most once, and nothing is added after it.
  Digest Finish();

 private:
  void Run();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_ || !queue_.empty(); }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return queue_.size() < kMaxQueued; }

  absl::Mutex mutex_;
  std::deque<grpc::ByteBuffer> queue_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  Sha256 hash_;  // The thread's until it has ended.
  std::jthread thread_;
};

}  // namespace neffcache
