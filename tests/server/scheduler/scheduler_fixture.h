#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/scheduler/scheduler.h"

namespace neffcache {

// A scheduler, a clock that the test moves, and short words for what tests do with them.
class SchedulerTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kGiB = uint64_t{1} << 30;
  static inline const Toolchain kXla{"xla-cpu", "1"};
  static inline const Toolchain kNeuron{"neuronx-cc", "2.27.5334.0"};

  static constexpr LeaseToken kFirstToken = 7000;

  static SchedulerOptions Options() {
    SchedulerOptions options;
    options.first_token = kFirstToken;
    return options;
  }
  static KeyMaterial Material(const std::string& graph, const Toolchain& toolchain = kXla) {
    KeyMaterial material;
    material.fingerprint = {"neffcache-raw-1", Sha256Of(graph)};
    material.toolchain = toolchain;
    return material;
  }
  static Key KeyOf(const std::string& graph, const Toolchain& toolchain = kXla) {
    return ComputeKey(Material(graph, toolchain));
  }

  Scheduler::Asked Ask(CallerId caller, const std::string& graph,
                       Purpose purpose = Purpose::kTrainer, const Toolchain& toolchain = kXla) {
    return scheduler_.Ask(caller, KeyOf(graph, toolchain), Material(graph, toolchain), purpose,
                          now_);
  }
  void Keep(const std::string& graph, uint64_t size = 1000, const Toolchain& toolchain = kXla) {
    QueuedCompile queued;
    queued.key = KeyOf(graph, toolchain);
    queued.material = Material(graph, toolchain);
    queued.graph.size = size;
    scheduler_.GraphKept(queued, now_);
  }
  // Asked for and queued.
  void Queue(CallerId caller, const std::string& graph, Purpose purpose = Purpose::kTrainer,
             uint64_t size = 1000, const Toolchain& toolchain = kXla) {
    Ask(caller, graph, purpose, toolchain);
    Keep(graph, size, toolchain);
  }
  void Worker(WorkerId id, uint32_t slots = 1, uint64_t memory = 8 * kGiB,
              std::vector<Toolchain> toolchains = {kXla}) {
    WorkerOffer offer;
    offer.name = absl::StrCat("w", id);
    offer.slots = slots;
    offer.memory_bytes = memory;
    offer.toolchains = std::move(toolchains);
    scheduler_.AddWorker(id, std::move(offer), now_);
  }
  void Beat(WorkerId id) { scheduler_.Heartbeat(id, {}, now_); }
  void Pass(absl::Duration time) {
    now_ += time;
    scheduler_.Advance(now_);
  }
  void Fail(WorkerId worker, LeaseToken token, FailureClass failure_class, uint64_t peak = 0) {
    ASSERT_TRUE(scheduler_.Claim(worker, token, now_).ok());
    Failure failure;
    failure.failure_class = failure_class;
    failure.message = "it broke";
    scheduler_.Failed(token, failure, peak, now_);
  }
  std::vector<CallerId> Succeed(WorkerId worker, LeaseToken token) {
    EXPECT_TRUE(scheduler_.Claim(worker, token, now_).ok());
    return scheduler_.Succeeded(token, absl::Seconds(1), kGiB, now_);
  }

  // The decisions of one kind since the last look at decisions of any kind.
  template <typename Kind>
  std::vector<Kind> Take() {
    std::vector<Kind> found;
    for (Decision& decision : scheduler_.TakeDecisions()) {
      if (auto* of_kind = std::get_if<Kind>(&decision)) found.push_back(std::move(*of_kind));
    }
    return found;
  }
  // The one lease that was just given; token 0 when there is not exactly one.
  Granted TakeGrant() {
    const std::vector<Granted> granted = Take<Granted>();
    return granted.size() == 1 ? granted[0] : Granted{};
  }

  absl::Time now_ = absl::UnixEpoch();
  Scheduler scheduler_{Options()};
};

}  // namespace neffcache
