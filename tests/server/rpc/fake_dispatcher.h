#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/scheduler/dispatcher.h"

namespace neffcache {

// A dispatcher whose events a test says. Everything that the server does with it can be waited for.
// Thread-safe.
class FakeDispatcher final : public CompileDispatcher {
 public:
  // What became of one Begin().
  struct Wait {
    CompileOrder order;
    Listener listener;
    std::vector<Digest> graphs;  // That arrived.
    bool left = false;
  };
  struct Connected {
    WorkerOffer offer;
    WorkerLink* link = nullptr;  // Null once it was removed.
    std::vector<LeaseProgress> progress;
    int heartbeats = 0;
    bool leaving = false;
  };
  struct Finished {
    WorkerId worker = 0;
    LeaseToken token = 0;
    absl::optional<Artifact> artifact;
    absl::optional<Failure> failure;
    absl::optional<Digest> log;
    absl::Duration compile_time;
  };
  struct State {
    std::vector<Wait> waits;
    std::map<WorkerId, Connected> workers;
    std::map<LeaseToken, Lease> leases;
    std::vector<Finished> finished;
    std::map<Key, CompileView> compiles;
    std::vector<Key> published;
    bool shut_down = false;
  };

  // --- For tests

  // Waits until `condition` holds for the state; false after 20 s, for a test that fails.
  bool Await(std::function<bool(const State&)> condition) const {
    absl::MutexLock lock(&mu_);
    const auto holds = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return condition(state_); };
    return mu_.AwaitWithTimeout(absl::Condition(&holds), absl::Seconds(20));
  }
  template <typename Read>
  auto Get(Read read) const {
    absl::MutexLock lock(&mu_);
    return read(state_);
  }
  void Set(const std::function<void(State&)>& change) {
    absl::MutexLock lock(&mu_);
    change(state_);
  }
  // To the `index`th wait; nothing when it has been left.
  void Tell(size_t index, const CompileEvent& event) {
    absl::ReaderMutexLock telling(&telling_);
    Listener listener;
    {
      absl::MutexLock lock(&mu_);
      if (state_.waits[index].left) return;
      listener = state_.waits[index].listener;
    }
    listener(event);
  }

  // Said at once, from inside Begin().
  std::function<std::vector<CompileEvent>(const CompileOrder&)> on_begin;
  std::function<absl::Status(const StagedContent&)> on_graph;
  std::function<void(WorkerLink&)> on_worker;
  absl::StatusOr<bool> finish_answer = true;

  // --- CompileDispatcher

  std::unique_ptr<CompileDispatcher::Call> Begin(CompileOrder order, Listener listener) override {
    size_t index;
    {
      absl::MutexLock lock(&mu_);
      index = state_.waits.size();
      state_.waits.push_back({order, listener, {}, false});
    }
    if (on_begin) {
      for (const CompileEvent& event : on_begin(order)) listener(event);
    }
    return std::make_unique<FakeCall>(*this, index);
  }

  void Published(const Entry& entry) override {
    Set([&](State& state) { state.published.push_back(entry.key); });
  }

  absl::StatusOr<WorkerId> AddWorker(WorkerOffer offer, WorkerLink& link) override {
    WorkerId id;
    {
      absl::MutexLock lock(&mu_);
      id = next_worker_++;
      state_.workers[id] = {std::move(offer), &link, {}, 0, false};
    }
    if (on_worker) on_worker(link);
    return id;
  }
  void RemoveWorker(WorkerId worker) override {
    Set([&](State& state) { state.workers[worker].link = nullptr; });
  }
  void Heartbeat(WorkerId worker, absl::Span<const LeaseProgress> progress) override {
    Set([&](State& state) {
      state.workers[worker].progress.assign(progress.begin(), progress.end());
      ++state.workers[worker].heartbeats;
    });
  }
  void WorkerLeaving(WorkerId worker) override {
    Set([&](State& state) { state.workers[worker].leaving = true; });
  }
  absl::StatusOr<Lease> FindLease(WorkerId, LeaseToken token) const override {
    absl::MutexLock lock(&mu_);
    const auto it = state_.leases.find(token);
    if (it == state_.leases.end()) return absl::NotFoundError("no such lease");
    return it->second;
  }
  absl::StatusOr<bool> Finish(WorkerId worker, LeaseToken token, CompileResult result) override {
    Finished finished;
    finished.worker = worker;
    finished.token = token;
    if (result.artifact.has_value()) {
      finished.artifact = Artifact{result.artifact->digest(), result.artifact->size()};
    }
    finished.failure = result.failure;
    if (result.log.has_value()) finished.log = result.log->digest();
    finished.compile_time = result.compile_time;
    Set([&](State& state) { state.finished.push_back(std::move(finished)); });
    return finish_answer;
  }

  std::vector<CompileView> ListCompiles() const override {
    return Get([](const State& state) {
      std::vector<CompileView> views;
      for (const auto& [key, view] : state.compiles) views.push_back(view);
      return views;
    });
  }
  absl::optional<CompileView> FindCompile(const Key& key) const override {
    absl::MutexLock lock(&mu_);
    const auto it = state_.compiles.find(key);
    if (it == state_.compiles.end()) return absl::nullopt;
    return it->second;
  }
  std::vector<bool> AreInFlight(absl::Span<const Key> keys) const override {
    return Get([&](const State& state) {
      std::vector<bool> in_flight;
      for (const Key& key : keys) in_flight.push_back(state.compiles.contains(key));
      return in_flight;
    });
  }
  std::vector<Key> KeysInFlight() const override {
    return Get([](const State& state) {
      std::vector<Key> keys;
      for (const auto& [key, view] : state.compiles) keys.push_back(key);
      return keys;
    });
  }
  std::vector<WorkerView> ListWorkers() const override {
    return Get([](const State& state) {
      std::vector<WorkerView> views;
      for (const auto& [id, worker] : state.workers) {
        WorkerView view;
        view.offer = worker.offer;
        views.push_back(view);
      }
      return views;
    });
  }
  std::vector<Toolchain> ListToolchains() const override { return {{"xla-cpu", "0.4.30"}}; }
  DispatchCounts Count() const override {
    DispatchCounts counts;
    counts.queued = 3;
    counts.joined = 5;
    return counts;
  }
  void Tick() override {}
  void Drain() override {}
  bool AwaitDrained(absl::Time, const std::stop_token&) override { return true; }
  void Shutdown() override {
    Set([](State& state) { state.shut_down = true; });
  }

 private:
  class FakeCall final : public CompileDispatcher::Call {
   public:
    FakeCall(FakeDispatcher& dispatcher, size_t index) : dispatcher_(dispatcher), index_(index) {}
    ~FakeCall() override {
      // As the real one: after this the listener is not called.
      absl::MutexLock telling(&dispatcher_.telling_);
      dispatcher_.Set([this](State& state) { state.waits[index_].left = true; });
    }
    absl::Status GraphArrived(StagedContent graph) override {
      dispatcher_.Set([&](State& state) { state.waits[index_].graphs.push_back(graph.digest()); });
      return dispatcher_.on_graph ? dispatcher_.on_graph(graph) : absl::OkStatus();
    }

   private:
    FakeDispatcher& dispatcher_;
    const size_t index_;
  };

  absl::Mutex telling_;  // Held (shared) while a listener is called.
  mutable absl::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_);
  WorkerId next_worker_ ABSL_GUARDED_BY(mu_) = 1;
};

}  // namespace neffcache
