#pragma once

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "graph/fingerprint.h"
#include "gtest/gtest.h"
#include "io/zstd.h"
#include "server/scheduler/dispatcher.h"
#include "server/store/database.h"

namespace neffcache {

// A client that notes what it is told. Waits in tests are for events, with a limit that only a
// failing test meets.
class RecordingClient {
 public:
  static constexpr absl::Duration kLimit = absl::Seconds(30);

  CompileDispatcher::Listener listener() {
    return [this](const CompileEvent& event) {
      absl::MutexLock lock(&mutex_);
      if (!events_.empty() && IsTerminal(events_.back())) ++after_end_;
      events_.push_back(event);
    };
  }

  template <typename Event>
  int Count() const {
    absl::MutexLock lock(&mutex_);
    return CountLocked<Event>();
  }
  // The first event of the type; fails the test when none comes.
  template <typename Event>
  Event Await() const {
    absl::MutexLock lock(&mutex_);
    const auto came = [this] { return CountLocked<Event>() > 0; };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&came), kLimit)) {
      ADD_FAILURE() << "no such event among " << events_.size();
      return {};
    }
    for (const CompileEvent& event : events_) {
      if (const auto* of_type = std::get_if<Event>(&event)) return *of_type;
    }
    return {};
  }
  template <typename Event>
  Event Last() const {
    absl::MutexLock lock(&mutex_);
    Event last;
    for (const CompileEvent& event : events_) {
      if (const auto* of_type = std::get_if<Event>(&event)) last = *of_type;
    }
    return last;
  }
  bool ended() const {
    absl::MutexLock lock(&mutex_);
    return !events_.empty() && IsTerminal(events_.back());
  }
  int events_after_the_end() const {
    absl::MutexLock lock(&mutex_);
    return after_end_;
  }

 private:
  template <typename Event>
  int CountLocked() const {
    int count = 0;
    for (const CompileEvent& event : events_) count += std::holds_alternative<Event>(event);
    return count;
  }

  mutable absl::Mutex mutex_;
  std::vector<CompileEvent> events_;
  int after_end_ = 0;

 public:
  std::unique_ptr<CompileDispatcher::Call> call;  // Last: it may still be told something.
};

// A worker's stream that notes what it is told.
class RecordingWorker final : public WorkerLink {
 public:
  void Grant(const Lease& lease) override {
    absl::MutexLock lock(&mutex_);
    leases_.push_back(lease);
  }
  void Revoke(LeaseToken token, absl::string_view) override {
    absl::MutexLock lock(&mutex_);
    revoked_.push_back(token);
  }
  void Drain(absl::string_view) override {
    absl::MutexLock lock(&mutex_);
    drained_ = true;
  }

  std::vector<Lease> leases() const {
    absl::MutexLock lock(&mutex_);
    return leases_;
  }
  std::vector<LeaseToken> revoked() const {
    absl::MutexLock lock(&mutex_);
    return revoked_;
  }
  bool drained() const {
    absl::MutexLock lock(&mutex_);
    return drained_;
  }
  Lease AwaitLease(size_t index = 0) const {
    absl::MutexLock lock(&mutex_);
    const auto came = [&] { return leases_.size() > index; };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&came), RecordingClient::kLimit)) {
      ADD_FAILURE() << "no lease " << index;
      return {};
    }
    return leases_[index];
  }

  WorkerId id = 0;

 private:
  mutable absl::Mutex mutex_;
  std::vector<Lease> leases_;
  std::vector<LeaseToken> revoked_;
  bool drained_ = false;
};

// A dispatcher over a real store in a directory of its own, with a clock that the test moves.
class DispatcherTest : public ::testing::Test {
 protected:
  static inline const Toolchain kToolchain{"xla-cpu", "1"};

  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/dispatcher.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    Open();
  }
  void TearDown() override {
    dispatcher_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }
  void Open() {
    StoreOptions store_options;
    store_options.data_dir = directory_;
    auto store = Store::Open(store_options);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    options_.clock = [this] { return absl::FromUnixMillis(now_ms_); };
    auto dispatcher = CompileDispatcher::Open(*store_, options_);
    ASSERT_TRUE(dispatcher.ok()) << dispatcher.status();
    dispatcher_ = *std::move(dispatcher);
  }
  // As after a crash of the daemon, as far as one process can.
  void Restart() {
    Close();
    Open();
  }
  void Close() {
    dispatcher_.reset();
    store_.reset();
  }
  // Puts a row that cannot be decoded in the place of the key's, while the store is closed.
  void SpoilRow(Column column, const Key& key) {
    auto database = Database::Open(directory_ + "/db", [](absl::string_view) {});
    ASSERT_TRUE(database.ok()) << database.status();
    Batch batch = (*database)->NewBatch();
    batch.Put(column, key.bytes(), "\xff\xff spoilt");
    ASSERT_TRUE((*database)->Write(std::move(batch), Durability::kSynced).ok());
  }
  void Pass(absl::Duration time) {
    now_ms_ += absl::ToInt64Milliseconds(time);
    dispatcher_->Tick();
  }

  static CompileOrder OrderFor(const std::string& graph) {
    CompileOrder order;
    order.material.fingerprint = IdentifyGraph(graph)->fingerprint;
    order.material.toolchain = kToolchain;
    order.key = ComputeKey(order.material);
    order.client = "test";
    return order;
  }
  StagedContent Stage(ContentKind kind, const std::string& bytes) {
    auto writer = store_->Stage(kind);
    EXPECT_TRUE(writer.ok()) << writer.status();
    EXPECT_TRUE(writer->Write(kind == ContentKind::kArtifact ? bytes : ZstdCompress(bytes)).ok());
    auto staged = std::move(*writer).Finish();
    EXPECT_TRUE(staged.ok()) << staged.status();
    return *std::move(staged);
  }
  void Begin(RecordingClient& client, CompileOrder order) {
    client.call = dispatcher_->Begin(std::move(order), client.listener());
  }
  absl::Status SendGraph(RecordingClient& client, const std::string& graph) {
    return client.call->GraphArrived(Stage(ContentKind::kGraph, graph));
  }
  // Asked for, graph sent, queued.
  void BeginWithGraph(RecordingClient& client, const std::string& graph) {
    Begin(client, OrderFor(graph));
    ASSERT_EQ(client.Count<NeedGraphEvent>(), 1);
    ASSERT_TRUE(SendGraph(client, graph).ok());
  }
  void Connect(RecordingWorker& worker, const std::string& name = "w") {
    WorkerOffer offer;
    offer.name = name;
    offer.toolchains = {kToolchain};
    offer.memory_bytes = uint64_t{8} << 30;
    auto id = dispatcher_->AddWorker(std::move(offer), worker);
    ASSERT_TRUE(id.ok()) << id.status();
    worker.id = *id;
  }
  void Disconnect(RecordingWorker& worker) { dispatcher_->RemoveWorker(worker.id); }
  absl::StatusOr<bool> FinishReady(const RecordingWorker& worker, LeaseToken token,
                                   const std::string& artifact) {
    CompileResult result;
    result.artifact = Stage(ContentKind::kArtifact, artifact);
    result.compile_time = absl::Seconds(3);
    result.peak_memory_bytes = 1 << 28;
    return dispatcher_->Finish(worker.id, token, std::move(result));
  }
  absl::StatusOr<bool> FinishFailed(const RecordingWorker& worker, LeaseToken token,
                                    FailureClass failure_class) {
    CompileResult result;
    result.failure = Failure();
    result.failure->failure_class = failure_class;
    result.failure->message = "NCC_TEST refused it";
    result.failure->exit_code = 70;
    result.log = Stage(ContentKind::kLog, "the log");
    return dispatcher_->Finish(worker.id, token, std::move(result));
  }

  std::string directory_;
  std::atomic<int64_t> now_ms_ = 1'000'000;
  DispatcherOptions options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<CompileDispatcher> dispatcher_;
};

}  // namespace neffcache
