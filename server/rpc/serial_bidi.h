#pragma once

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "server/rpc/strand.h"
#include "transport/status.h"

namespace neffcache {

// A bidirectional stream whose every event is handled on one strand: the derived class is written
// as if it had one thread, and may block in it.
//
// Flow control: the next message is read when the derived class asks for it; one write is under way
// at a time, further messages wait in the outbox. gRPC's threads only post.
//
// It owns itself until OnDone; tasks share it, so that one that comes late finds a live object.
template <typename In, typename Out>
class SerialBidi : public grpc::ServerBidiReactor<In, Out>,
                   public std::enable_shared_from_this<SerialBidi<In, Out>> {
 public:
  // Creates a `Call` and starts it. The pointer is for gRPC; the call dies by itself.
  template <typename Call, typename... Args>
  static Call* Create(Args&&... args) {
    auto call = std::make_shared<Call>(std::forward<Args>(args)...);
    call->self_ = call;
    call->Post([raw = static_cast<SerialBidi*>(call.get())] { raw->OnStart(); });
    return call.get();
  }

  // gRPC's threads.
  void OnReadDone(bool ok) final {
    Post([this, ok] {
      if (ended_) return;
      if (ok) {
        OnMessage(in_);
      } else {
        OnHalfClose();
      }
    });
  }
  void OnWriteDone(bool ok) final {
    Post([this, ok] {
      writing_ = false;
      if (!ok) outbox_.clear();  // The peer is gone; OnCancel says so.
      Pump();
    });
  }
  void OnCancel() final {
    Post([this] { End(absl::CancelledError("the client went away")); });
  }
  void OnDone() final { std::shared_ptr<SerialBidi>(std::move(self_)).reset(); }

 protected:
  explicit SerialBidi(Executor& executor) : strand_(executor) {}

  // All of these are called on the strand; none after End.
  virtual void OnStart() = 0;
  // `message` is valid until the next Receive().
  virtual void OnMessage(In& message) = 0;
  virtual void OnHalfClose() = 0;
  // Exactly once, when the call ends for whatever reason: let go of everything.
  virtual void OnEnd() = 0;

  // Any thread.
  void Post(Executor::Task task) {
    strand_.Post([self = this->shared_from_this(), task = std::move(task)]() mutable { task(); });
  }

  // The rest: on the strand only.

  void Receive() {
    if (!ended_) this->StartRead(&in_);
  }

  // kLatest replaces a waiting message that was itself sent so: what is only news may be skipped.
  enum class Delivery { kEvery, kLatest };
  void Send(Out message, Delivery delivery = Delivery::kEvery) {
    if (ended_) return;
    const bool latest = delivery == Delivery::kLatest;
    if (latest && !outbox_.empty() && outbox_.back().second) {
      outbox_.back().first = std::move(message);
    } else {
      outbox_.emplace_back(std::move(message), latest);
    }
    Pump();
  }

  // Sends what is in the outbox (nothing more after an error), then the status. Idempotent.
  void End(absl::Status status) {
    if (ended_) return;
    ended_ = true;
    status_ = std::move(status);
    if (!status_.ok()) outbox_.clear();
    OnEnd();
    Pump();
  }

  bool ended() const { return ended_; }
  size_t outbox_size() const { return outbox_.size(); }

 private:
  void Pump() {
    if (writing_ || finished_) return;
    if (outbox_.empty()) {
      if (!ended_) return;
      finished_ = true;
      this->Finish(ToGrpc(status_));
      return;
    }
    out_ = std::move(outbox_.front().first);
    outbox_.pop_front();
    writing_ = true;
    if (ended_ && outbox_.empty()) {
      finished_ = true;
      this->StartWriteAndFinish(&out_, grpc::WriteOptions(), ToGrpc(status_));
    } else {
      this->StartWrite(&out_);
    }
  }

  Strand strand_;
  std::shared_ptr<SerialBidi> self_;

  // Of the strand.
  In in_;
  Out out_;
  std::deque<std::pair<Out, bool>> outbox_;
  absl::Status status_;
  bool writing_ = false;
  bool ended_ = false;
  bool finished_ = false;
};

}  // namespace neffcache
