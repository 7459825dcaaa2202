#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "server/rpc/strand.h"
#include "transport/status.h"

namespace neffcache {

// A client stream that is handled message by message on one strand, where it may block: the next
// message is read when the one before is dealt with, so a slow disk slows the sender.
//
// Ownership as SerialBidi.
template <typename In>
class SerialUpload : public grpc::ServerReadReactor<In>,
                     public std::enable_shared_from_this<SerialUpload<In>> {
 public:
  template <typename Call, typename... Args>
  static Call* Create(Args&&... args) {
    auto call = std::make_shared<Call>(std::forward<Args>(args)...);
    call->self_ = call;
    call->Post([raw = call.get()] { raw->Receive(); });
    return call.get();
  }

  // gRPC's threads.
  void OnReadDone(bool ok) final {
    Post([this, ok] {
      if (ended_) return;
      if (ok) {
        const absl::Status taken = OnMessage(in_);
        if (taken.ok()) {
          Receive();
        } else {
          End(taken);
        }
      } else {
        // A broken stream ends like a finished one: what it brought must not count.
        End(call_.IsCancelled() ? Gone() : OnComplete());
      }
    });
  }
  void OnCancel() final {
    Post([this] { End(Gone()); });
  }
  void OnDone() final { std::shared_ptr<SerialUpload>(std::move(self_)).reset(); }

 protected:
  SerialUpload(Executor& executor, grpc::CallbackServerContext& call)
      : strand_(executor), call_(call) {}

  // On the strand; none after End. An error ends the call.
  virtual absl::Status OnMessage(In& message) = 0;
  // All messages have come; the response is set when this returns OK.
  virtual absl::Status OnComplete() = 0;
  // Exactly once, when the call ends for whatever reason: let go of everything.
  virtual void OnEnd() = 0;

  // On the strand. OK sends the response, before the stream's end if need be.
  void End(const absl::Status& status) {
    if (std::exchange(ended_, true)) return;
    OnEnd();
    this->Finish(ToGrpc(status));
  }

 private:
  static absl::Status Gone() { return absl::CancelledError("the sender went away"); }

  void Post(Executor::Task task) {
    strand_.Post([self = this->shared_from_this(), task = std::move(task)]() mutable { task(); });
  }
  void Receive() {
    if (!ended_) this->StartRead(&in_);
  }

  Strand strand_;
  grpc::CallbackServerContext& call_;
  std::shared_ptr<SerialUpload> self_;

  // Of the strand.
  In in_;
  bool ended_ = false;
};

}  // namespace neffcache
