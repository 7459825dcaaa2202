#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "server/rpc/executor.h"
#include "server/rpc/self_owned.h"
#include "transport/status.h"

namespace neffcache {

// Streams a list that is made batch by batch: the reactor of the List and Get calls.
//
// `NextBatch` runs on the executor, where it may block; an empty batch is the end. One batch is in
// memory at a time, however slowly the client reads. Every step follows the one before, so the
// state needs no lock.
template <typename Message>
class ListStream final : public SelfOwned<grpc::ServerWriteReactor<Message>, ListStream<Message>> {
 public:
  using NextBatch = absl::AnyInvocable<absl::StatusOr<std::vector<Message>>()>;

  ListStream(Executor& executor, NextBatch next_batch)
      : executor_(executor), next_batch_(std::move(next_batch)) {}

  void Start() {
    executor_.Run([this, self = this->shared_from_this()] { Refill(); });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return this->Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
    if (++at_ < batch_.size()) return this->StartWrite(&batch_[at_]);
    Start();
  }
  void OnCancel() override { cancelled_ = true; }

 private:
  void Refill() {
    if (cancelled_) {
      return this->Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
    }
    absl::StatusOr<std::vector<Message>> batch = next_batch_();
    if (!batch.ok()) return this->Finish(ToGrpc(batch.status()));
    if (batch->empty()) return this->Finish(grpc::Status::OK);
    batch_ = *std::move(batch);
    at_ = 0;
    this->StartWrite(&batch_[0]);
  }

  Executor& executor_;
  NextBatch next_batch_;
  std::vector<Message> batch_;
  size_t at_ = 0;
  std::atomic<bool> cancelled_{false};
};

}  // namespace neffcache
