#include "tests/bench/fetch_load.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "neffcache/v1/cache.grpc.pb.h"
#include "tests/bench/measurement.h"
#include "transport/channel.h"
#include "transport/status.h"

namespace neffcache::bench {
namespace {

// One connection with one Fetch in flight.
class Fetcher {
 public:
  Fetcher(const std::string& address, const std::vector<std::string>& digests, uint64_t size,
          size_t first, grpc::CompletionQueue& queue)
      : stub_(v1::GraphCache::NewStub(OpenChannel(address, Connection::kOwn))),
        digests_(digests),
        size_(size),
        next_(first),
        queue_(queue) {}

  void Start() {
    v1::FetchRequest request;
    request.set_kind(v1::FetchRequest::KIND_ARTIFACT);
    request.set_digest(digests_[next_++ % digests_.size()]);
    received_ = 0;
    reader_.reset();  // It lives in the memory of its context's call.
    context_.emplace();
    started_ = absl::Now();
    step_ = Step::kStart;
    reader_ = stub_->PrepareAsyncFetch(&*context_, request, &queue_);
    reader_->StartCall(this);
  }

  // Goes on after an event of the queue. True when the Fetch is over.
  bool Continue(bool ok) {
    if (step_ == Step::kFinish) {
      Require(FromGrpc(status_, "fetching"));
      if (received_ != size_)
        Require(
            absl::DataLossError(absl::StrCat("fetched ", received_, " bytes instead of ", size_)));
      return true;
    }
    if (step_ == Step::kRead && ok) received_ += piece_.data().size();
    if (ok) {
      step_ = Step::kRead;
      reader_->Read(&piece_, this);
    } else {
      step_ = Step::kFinish;
      reader_->Finish(&status_, this);
    }
    return false;
  }

  absl::Time started() const { return started_; }

 private:
  enum class Step { kStart, kRead, kFinish };

  const std::unique_ptr<v1::GraphCache::Stub> stub_;
  const std::vector<std::string>& digests_;
  const uint64_t size_;
  size_t next_;
  grpc::CompletionQueue& queue_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientAsyncReader<v1::FetchResponse>> reader_;
  v1::FetchResponse piece_;
  grpc::Status status_;
  Step step_ = Step::kStart;
  uint64_t received_ = 0;
  absl::Time started_;
};

}  // namespace

FetchLoad LoadWithFetches(const std::string& address, const std::vector<std::string>& digests,
                          uint64_t size, int clients, absl::Duration duration) {
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<Fetcher>> fetchers;
  for (int i = 0; i < clients; ++i) {
    fetchers.push_back(std::make_unique<Fetcher>(address, digests, size, i, queue));
  }
  for (const std::unique_ptr<Fetcher>& fetcher : fetchers) fetcher->Start();

  // The first round connects, and does not count.
  FetchLoad load;
  int warming = clients;
  int active = clients;
  absl::Time begin = absl::InfiniteFuture();
  void* tag = nullptr;
  bool ok = false;
  while (active > 0 && queue.Next(&tag, &ok)) {
    auto* fetcher = static_cast<Fetcher*>(tag);
    if (!fetcher->Continue(ok)) continue;
    const absl::Time now = absl::Now();
    if (warming > 0) {
      if (--warming == 0) begin = now;
    } else if (fetcher->started() >= begin) {
      load.latencies.push_back(now - fetcher->started());
    }
    if (now - begin < duration) {
      fetcher->Start();
    } else {
      --active;
    }
  }
  load.per_second =
      static_cast<double>(load.latencies.size()) / absl::ToDoubleSeconds(absl::Now() - begin);
  std::sort(load.latencies.begin(), load.latencies.end());
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return load;
}

}  // namespace neffcache::bench
