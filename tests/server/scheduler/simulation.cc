#include "tests/server/scheduler/simulation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace neffcache {
namespace {

constexpr size_t kKeys = 60;
constexpr size_t kMostMachines = 8;
constexpr size_t kMostClients = 200;
constexpr size_t kMostDead = 200;
constexpr uint64_t kGiB = uint64_t{1} << 30;

const Toolchain kToolchains[] = {{"neuronx-cc", "2.27"}, {"neuronx-cc", "2.26"}, {"xla-cpu", "1"}};

SchedulerOptions OptionsFrom(LeaseToken first_token) {
  SchedulerOptions options;
  options.first_token = first_token;
  return options;
}

absl::Duration Patience() {
  const SchedulerOptions options;
  return options.heartbeat_interval * options.missed_heartbeats;
}

}  // namespace

Simulation::Simulation(uint64_t seed) : random_(seed) {
  NewScheduler();
}

void Simulation::Violate(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

Toolchain Simulation::RandomToolchain() {
  return kToolchains[Pick(std::size(kToolchains))];
}

KeyMaterial Simulation::MaterialOf(size_t index) const {
  KeyMaterial material;
  material.fingerprint = {"neffcache-raw-1", Sha256Of(absl::StrCat("graph ", index))};
  material.toolchain = kToolchains[index % std::size(kToolchains)];
  return material;
}

void Simulation::NewScheduler() {
  scheduler_ =
      std::make_unique<Scheduler>(OptionsFrom(tokens_.empty() ? 1000 : *tokens_.rbegin() + 1000));
  latest_ = now_;
}

// --- Clients and the store

void Simulation::ClientComes() {
  if (clients_.size() >= kMostClients) return;
  const KeyMaterial material = MaterialOf(Pick(kKeys));
  const Key key = ComputeKey(material);
  const CallerId caller = next_id_++;
  clients_[caller] = {key};
  const auto purpose = static_cast<Purpose>(Pick(3));
  const bool known = scheduler_->Find(key) != nullptr;
  const auto asked = scheduler_->Ask(caller, key, material, purpose, now_);
  if ((asked == Scheduler::Asked::kLookUp) == known) Violate("a look-up too many or too few");
  if (asked == Scheduler::Asked::kLookUp) lookups_.push_back(key);
}

void Simulation::ClientLeaves() {
  if (clients_.empty()) return;
  const auto client = std::next(clients_.begin(), Pick(clients_.size()));
  if (const auto asked = asked_.find(client->second.key);
      asked != asked_.end() && asked->second == client->first) {
    asked_.erase(asked);
  }
  const CallerId caller = client->first;
  clients_.erase(client);
  scheduler_->Leave(caller, now_);
}

void Simulation::LookupEnds() {
  if (lookups_.empty()) return;
  const size_t i = Pick(lookups_.size());
  const Key key = lookups_[i];
  lookups_.erase(lookups_.begin() + i);
  if (ready_.contains(key)) {
    // Artifacts are forgotten now and then, so that the simulation does not run dry.
    if (Chance(0.5)) ready_.erase(key);
    return Answered(key, scheduler_->End(key));
  }
  if (!graphs_.contains(key)) return scheduler_->NeedGraph(key, now_);
  if (Chance(0.3)) graphs_.erase(key);
  const Compile& compile = *scheduler_->Find(key);
  QueuedCompile queued{key, compile.material, {}, compile.purpose, now_, 0};
  queued.graph.size = Pick(8) << 20;
  queue_[key] = queued;
  scheduler_->GraphKept(queued, now_);
}

void Simulation::GraphArrives() {
  if (asked_.empty()) return;
  const auto asked = std::next(asked_.begin(), Pick(asked_.size()));
  const Key key = asked->first;
  const Compile* compile = scheduler_->Find(key);
  if (compile == nullptr || compile->state != Compile::State::kNeedsGraph ||
      compile->asked != asked->second) {
    return Violate("the scheduler forgot whom it asked");
  }
  asked_.erase(asked);
  QueuedCompile queued{key, compile->material, {}, compile->purpose, now_, 0};
  queued.graph.size = Pick(20) << 20;
  queue_[key] = queued;
  if (Chance(0.5)) graphs_.insert(key);
  scheduler_->GraphKept(queued, now_);
}

void Simulation::Answered(const Key& key, const std::vector<CallerId>& callers) {
  for (const CallerId caller : callers) {
    const auto client = clients_.find(caller);
    if (client == clients_.end() || client->second.key != key) {
      return Violate("an answer for somebody who does not wait for it");
    }
    clients_.erase(client);
    ++tally_.answered;
  }
  for (const auto& [caller, client] : clients_) {
    if (client.key == key) return Violate("somebody was left without the answer");
  }
}

// --- Workers

void Simulation::WorkerComes(WorkerOffer offer) {
  if (machines_.size() >= kMostMachines) return;
  const WorkerId id = next_id_++;
  machines_[id] = {offer, now_, {}};
  machines_[id].last_heard = latest_ = std::max(latest_, now_);
  scheduler_->AddWorker(id, std::move(offer), now_);
}

void Simulation::WorkerGoes() {
  if (machines_.empty()) return;
  const auto machine = std::next(machines_.begin(), Pick(machines_.size()));
  const WorkerId id = machine->first;
  if (Chance(0.2)) return scheduler_->WorkerLeaving(id, now_);
  dead_.insert(dead_.end(), machine->second.holdings.begin(), machine->second.holdings.end());
  machines_.erase(machine);
  scheduler_->RemoveWorker(id, now_);
}

void Simulation::WorkerBeats(WorkerId id) {
  Machine& machine = machines_.at(id);
  std::vector<LeaseProgress> progress;
  for (const Holding& holding : machine.holdings) {
    progress.push_back({holding.token, Pick(8) * kGiB, "compiling"});
  }
  machine.last_heard = latest_ = std::max(latest_, now_);
  scheduler_->Heartbeat(id, progress, now_);
}

void Simulation::WorkerReports() {
  if (machines_.empty()) return;
  Machine& machine = std::next(machines_.begin(), Pick(machines_.size()))->second;
  if (machine.holdings.empty()) return;
  const size_t i = Pick(machine.holdings.size());
  const Holding holding = machine.holdings[i];
  machine.holdings.erase(machine.holdings.begin() + i);
  const bool live = live_.contains(holding.token);
  const bool taken = scheduler_->Claim(holding.worker, holding.token, now_).ok();
  if (taken != live) Violate("a result was taken for a void token, or refused for a live one");
  if (taken) {
    claimed_.push_back(holding);
  } else {
    ++tally_.late_refused;
  }
  dead_.push_back(holding);  // It may be reported again.
}

void Simulation::LateReport() {
  if (dead_.empty()) return;
  const Holding holding = dead_[Pick(dead_.size())];
  const bool may_be_live =
      live_.contains(holding.token) &&
      std::none_of(claimed_.begin(), claimed_.end(),
                   [&](const Holding& claimed) { return claimed.token == holding.token; });
  if (may_be_live) return;
  if (scheduler_->Claim(holding.worker, holding.token, now_).ok()) {
    Violate(absl::StrCat("stale token ", holding.token, " was taken"));
  }
  ++tally_.late_refused;
}

void Simulation::CommitEnds(bool always_succeeds) {
  if (claimed_.empty()) return;
  const size_t i = Pick(claimed_.size());
  const Holding holding = claimed_[i];
  claimed_.erase(claimed_.begin() + i);
  if (!live_.contains(holding.token)) return Violate("a lease ended while it was committed");
  live_.erase(holding.token);
  lease_of_.erase(holding.key);
  if (always_succeeds || Chance(0.5)) {
    ++tally_.succeeded;
    ready_.insert(holding.key);
    queue_.erase(holding.key);
    return Answered(holding.key, scheduler_->Succeeded(holding.token, absl::Seconds(Pick(600)),
                                                       Pick(64) * kGiB, now_));
  }
  ++tally_.failed;
  Failure failure;
  failure.failure_class = static_cast<FailureClass>(Pick(4));
  failure.message = "it broke";
  scheduler_->Failed(holding.token, failure, Pick(64) * kGiB, now_);
}

void Simulation::FailureIsStored() {
  if (ending_.empty()) return;
  const size_t i = Pick(ending_.size());
  const Key key = ending_[i];
  ending_.erase(ending_.begin() + i);
  queue_.erase(key);
  Answered(key, scheduler_->End(key));
}

// --- Time

void Simulation::TimePasses() {
  if (Chance(0.02)) {
    now_ += absl::Hours(Pick(10));  // A jump, or a machine that slept.
  } else if (Chance(0.02)) {
    now_ -= absl::Hours(Pick(10));
  } else {
    now_ += absl::Milliseconds(Pick(3000));
  }
  latest_ = std::max(latest_, now_);
  scheduler_->Advance(now_);
  CarryOut();
  if (scheduler_->NextDeadline() <= latest_) Violate("Advance() left something that was due");
  for (const auto& [token, holding] : live_) {
    const auto machine = machines_.find(holding.worker);
    const bool claimed =
        std::any_of(claimed_.begin(), claimed_.end(),
                    [t = token](const Holding& other) { return other.token == t; });
    if (claimed) continue;
    if (machine == machines_.end()) return Violate("a lease outlived its worker");
    if (latest_ - machine->second.last_heard >= Patience()) {
      return Violate("a silent worker kept its lease");
    }
  }
}

void Simulation::Restart() {
  ++tally_.restarts;
  for (auto& [id, machine] : machines_) {
    dead_.insert(dead_.end(), machine.holdings.begin(), machine.holdings.end());
  }
  machines_.clear();
  clients_.clear();
  lookups_.clear();
  asked_.clear();
  live_.clear();
  lease_of_.clear();
  claimed_.clear();
  ending_.clear();
  NewScheduler();
  for (const auto& [key, queued] : queue_) scheduler_->Restore(queued, now_);
}

// --- The account

void Simulation::CarryOut() {
  for (const Decision& decision : scheduler_->TakeDecisions()) {
    if (const auto* ask = std::get_if<AskGraph>(&decision)) {
      ++tally_.asked;
      const auto client = clients_.find(ask->caller);
      if (client == clients_.end() || client->second.key != ask->key) {
        return Violate("somebody was asked for a graph who does not wait");
      }
      if (asked_.contains(ask->key)) return Violate("two clients were asked for one graph");
      asked_[ask->key] = ask->caller;
    } else if (const auto* granted = std::get_if<Granted>(&decision)) {
      ++tally_.granted;
      if (!tokens_.insert(granted->token).second) return Violate("a token was used twice");
      if (!queue_.contains(granted->key)) return Violate("a lease for what is not in the queue");
      if (lease_of_.contains(granted->key)) return Violate("two live leases for one key");
      const auto machine = machines_.find(granted->worker);
      if (machine == machines_.end()) return Violate("a lease for a worker that is gone");
      const Holding holding{granted->worker, granted->token, granted->key};
      live_[granted->token] = holding;
      lease_of_[granted->key] = granted->token;
      machine->second.holdings.push_back(holding);
    } else if (const auto* revoked = std::get_if<Revoked>(&decision)) {
      ++tally_.revoked;
      if (const auto lease = live_.find(revoked->token); lease != live_.end()) {
        lease_of_.erase(lease->second.key);
        live_.erase(lease);
      }
      // The worker may not have heard: it keeps its holding half of the time, and reports late.
      const auto machine = machines_.find(revoked->worker);
      if (machine != machines_.end() && Chance(0.5)) {
        std::erase_if(machine->second.holdings,
                      [&](const Holding& held) { return held.token == revoked->token; });
      }
    } else if (const auto* gave_up = std::get_if<GaveUp>(&decision)) {
      ++tally_.gave_up;
      if (lease_of_.contains(gave_up->key)) return Violate("gave up what has a lease");
      ending_.push_back(gave_up->key);
    }
  }
}

void Simulation::Check() {
  if (live_.size() != scheduler_->running()) {
    Violate(absl::StrCat("the account has ", live_.size(), " leases, the scheduler ",
                         scheduler_->running()));
  }
  for (const auto& [token, holding] : live_) {
    const Compile* compile = scheduler_->FindLease(holding.worker, token);
    if (compile == nullptr || compile->key != holding.key) {
      Violate(absl::StrCat("live token ", token, " is unknown"));
    }
  }
  for (const auto& [caller, client] : clients_) {
    const Compile* compile = scheduler_->WaitedFor(caller);
    if (compile == nullptr || compile->key != client.key) Violate("a waiting client was forgotten");
  }
  for (const auto& [id, worker] : scheduler_->workers().all()) {
    uint64_t reserved = 0;
    for (const auto& [token, bytes] : worker.leases) reserved += bytes;
    if (worker.busy() > worker.offer.slots) Violate("more leases than slots");
    if (reserved != worker.reserved_bytes) Violate("reservations do not add up");
    if (reserved > worker.memory()) Violate("more memory reserved than the worker has");
  }
  scheduler_->ForEach([&](const Compile& compile) {
    if (compile.state == Compile::State::kNeedsGraph && !clients_.contains(compile.asked)) {
      Violate("the graph is awaited from somebody who left");
    }
  });
  // Work is not left lying while a worker that could take it is idle.
  scheduler_->ForEach([&](const Compile& compile) {
    if (compile.state != Compile::State::kQueued) return;
    for (const auto& [id, worker] : scheduler_->workers().all()) {
      if (worker.busy() == 0 && worker.takes_leases() &&
          worker.Offers(compile.material.toolchain) &&
          !compile.avoided.contains(worker.offer.name) &&
          worker.memory() >= compile.memory_needed) {
        Violate(absl::StrCat("worker ", worker.offer.name, " idles while a compile waits"));
      }
    }
  });
  if (dead_.size() > kMostDead) dead_.erase(dead_.begin(), dead_.begin() + kMostDead / 2);
}

void Simulation::Step() {
  switch (Pick(16)) {
    case 0:
    case 1:
    case 2:
      ClientComes();
      break;
    case 3:
      if (Chance(0.3)) ClientLeaves();
      break;
    case 4:
      LookupEnds();
      break;
    case 5:
      GraphArrives();
      break;
    case 6:
      if (Chance(0.1)) {
        WorkerOffer offer;
        offer.name = absl::StrCat("node-", Pick(12));
        offer.slots = 1 + Pick(4);
        offer.memory_bytes = Pick(5) * 16 * kGiB;  // 0 now and then: no limit.
        offer.toolchains = {RandomToolchain(), RandomToolchain()};
        WorkerComes(std::move(offer));
      }
      break;
    case 7:
      if (Chance(0.05)) WorkerGoes();
      break;
    case 8:
    case 9:
      for (auto machine = machines_.begin(); machine != machines_.end(); ++machine) {
        if (Chance(0.7)) WorkerBeats(machine->first);
      }
      break;
    case 10:
    case 11:
      WorkerReports();
      break;
    case 12:
      LateReport();
      break;
    case 13:
      CommitEnds(false);
      break;
    case 14:
      FailureIsStored();
      break;
    case 15:
      if (Chance(0.002)) {
        Restart();
      } else {
        TimePasses();
      }
      break;
  }
  CarryOut();
  Check();
}

void Simulation::Calm() {
  while (!machines_.empty()) {
    const auto machine = machines_.begin();
    const WorkerId id = machine->first;
    machines_.erase(machine);
    scheduler_->RemoveWorker(id, now_);
    CarryOut();
  }
  now_ = latest_;
  WorkerOffer offer;
  offer.name = "healthy";
  offer.slots = 4;
  offer.memory_bytes = 64 * kGiB;
  offer.toolchains.assign(std::begin(kToolchains), std::end(kToolchains));
  WorkerComes(std::move(offer));
  CarryOut();
  for (int i = 0; i < 20'000 && violation_.empty(); ++i) {
    LookupEnds();
    CarryOut();
    GraphArrives();
    CarryOut();
    WorkerReports();
    CommitEnds(true);
    CarryOut();
    FailureIsStored();
    CarryOut();
    now_ += absl::Seconds(1);
    latest_ = now_;
    for (const auto& [id, machine] : machines_) WorkerBeats(id);
    scheduler_->Advance(now_);
    CarryOut();
    Check();
    if (clients_.empty() && scheduler_->waiting() + scheduler_->running() == 0) return;
  }
  Violate(absl::StrCat(clients_.size(), " clients and ", scheduler_->waiting(),
                       " compiles still wait when all is calm"));
}

}  // namespace neffcache
