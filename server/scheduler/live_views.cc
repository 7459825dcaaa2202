// What people see of the dispatcher.

#include <algorithm>

#include "server/scheduler/live_dispatcher.h"

namespace neffcache {
namespace {

using State = Compile::State;

CompileView::State ToView(State state) {
  switch (state) {
    case State::kLookingUp:
    case State::kNeedsGraph:
      return CompileView::State::kNeedsGraph;
    case State::kQueued:
    case State::kBackingOff:
      return CompileView::State::kQueued;
    case State::kRunning:
    case State::kCommitting:
    case State::kEnding:
      return CompileView::State::kRunning;
  }
  return CompileView::State::kQueued;
}

// An order that the store may yet answer is no compile.
bool Shown(const Compile& compile) {
  return compile.state != State::kLookingUp;
}

}  // namespace

CompileView LiveDispatcher::ViewOf(const Compile& compile) const {
  const CompileStatus status = scheduler_.Describe(compile, Now());
  CompileView view;
  view.key = compile.key;
  view.material = compile.material;
  view.state = ToView(compile.state);
  view.position = status.position;
  view.waiters = static_cast<uint32_t>(compile.callers.size());
  view.elapsed = status.elapsed;
  view.expected = status.expected;
  view.memory_bytes = compile.memory_bytes;
  if (compile.lease) view.worker = compile.lease->worker_name;
  view.last_log_line = compile.last_log_line;
  view.attempt = status.attempt;
  view.graph_name = compile.graph.name;
  view.reason = status.reason;
  return view;
}

std::vector<CompileView> LiveDispatcher::ListCompiles() const {
  absl::MutexLock lock(&mutex_);
  std::vector<CompileView> views;
  for (const Compile* compile : scheduler_.InOrder()) {
    if (Shown(*compile)) views.push_back(ViewOf(*compile));
  }
  return views;
}

absl::optional<CompileView> LiveDispatcher::FindCompile(const Key& key) const {
  absl::MutexLock lock(&mutex_);
  const Compile* compile = scheduler_.Find(key);
  if (compile == nullptr || !Shown(*compile)) return absl::nullopt;
  return ViewOf(*compile);
}

std::vector<bool> LiveDispatcher::AreInFlight(absl::Span<const Key> keys) const {
  std::vector<bool> in_flight(keys.size());
  absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < keys.size(); ++i) {
    const Compile* compile = scheduler_.Find(keys[i]);
    in_flight[i] = compile != nullptr && Shown(*compile);
  }
  return in_flight;
}

std::vector<Key> LiveDispatcher::KeysInFlight() const {
  absl::MutexLock lock(&mutex_);
  std::vector<Key> keys;
  scheduler_.ForEach([&](const Compile& compile) {
    if (Shown(compile)) keys.push_back(compile.key);
  });
  return keys;
}

std::vector<WorkerView> LiveDispatcher::ListWorkers() const {
  absl::MutexLock lock(&mutex_);
  std::vector<WorkerView> views;
  for (const auto& [id, worker] : scheduler_.workers().all()) {
    WorkerView view;
    view.offer = worker.offer;
    view.busy = worker.busy();
    view.reserved_bytes = worker.reserved_bytes;
    view.connected = Now() - worker.connected;
    view.compiles_done = worker.compiles_done;
    view.compiles_failed = worker.compiles_failed;
    view.draining = worker.draining;
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<Toolchain> LiveDispatcher::ListToolchains() const {
  absl::MutexLock lock(&mutex_);
  std::vector<Toolchain> toolchains;
  for (const auto& [id, worker] : scheduler_.workers().all()) {
    for (const Toolchain& toolchain : worker.offer.toolchains) {
      if (std::find(toolchains.begin(), toolchains.end(), toolchain) == toolchains.end()) {
        toolchains.push_back(toolchain);
      }
    }
  }
  return toolchains;
}

DispatchCounts LiveDispatcher::Count() const {
  absl::MutexLock lock(&mutex_);
  DispatchCounts counts;
  scheduler_.ForEach([&](const Compile& compile) {
    if (ToView(compile.state) == CompileView::State::kQueued) ++counts.queued;
  });
  counts.running = scheduler_.running();
  counts.done = done_;
  counts.failed = failed_;
  counts.joined = joined_;
  counts.late = late_;
  for (const auto& [id, worker] : scheduler_.workers().all()) {
    ++counts.workers;
    counts.slots += worker.offer.slots;
  }
  return counts;
}

}  // namespace neffcache
