#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace neffcache {

// Something that holds messages back until Deliver().
class Deliverable {
 public:
  virtual ~Deliverable() = default;
  virtual void Deliver() = 0;
};

// Hands messages to one receiver, one at a time and in the order of Push(), from whatever thread
// delivers, and with no lock held.
//
// The dispatcher pushes while it holds its own lock, so that the order of messages is the order of
// decisions, and delivers after it let go. When two threads deliver at once, one does it for both.
//
// Thread-safe. After Close() returns, the receiver is not called again (Close() waits for a call
// that is being made, unless it is made by the same thread).
template <typename Message>
class Outbox final : public Deliverable {
 public:
  using Receiver = std::function<void(const Message&)>;

  explicit Outbox(Receiver receiver) : receiver_(std::move(receiver)) {}

  void Push(Message message) {
    absl::MutexLock lock(&mutex_);
    if (!closed_) messages_.push_back(std::move(message));
  }

  void Deliver() override {
    absl::MutexLock lock(&mutex_);
    if (delivering_) return;
    delivering_ = true;
    deliverer_ = std::this_thread::get_id();
    while (!messages_.empty()) {
      const Message message = std::move(messages_.front());
      messages_.pop_front();
      mutex_.Unlock();
      receiver_(message);
      mutex_.Lock();
    }
    delivering_ = false;
  }

  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    messages_.clear();
    if (delivering_ && deliverer_ == std::this_thread::get_id()) return;
    mutex_.Await(absl::Condition(
        +[](bool* delivering) { return !*delivering; }, &delivering_));
  }

 private:
  const Receiver receiver_;
  absl::Mutex mutex_;
  std::deque<Message> messages_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread::id deliverer_ ABSL_GUARDED_BY(mutex_);
};

// The outboxes that got messages under a lock, to be delivered after it.
class Delivery {
 public:
  template <typename Message>
  void Push(const std::shared_ptr<Outbox<Message>>& outbox, Message message) {
    outbox->Push(std::move(message));
    touched_.push_back(outbox);
  }

  // With no lock held.
  void Deliver() {
    for (const std::shared_ptr<Deliverable>& outbox : touched_) outbox->Deliver();
    touched_.clear();
  }

 private:
  std::vector<std::shared_ptr<Deliverable>> touched_;
};

}  // namespace neffcache
