#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/scheduler/scheduler.h"

namespace neffcache {

// A cluster that does at random whatever clusters do: clients come and go, graphs arrive or do not,
// workers connect, finish, fail, fall silent, lose their stream and report late or twice, clocks
// jump, the daemon restarts. It keeps its own account of leases from the scheduler's decisions, and
// compares after every step. Deterministic for a seed.
class Simulation {
 public:
  explicit Simulation(uint64_t seed);

  // One random event, or time.
  void Step();
  // No more faults: graphs arrive, workers are healthy. Afterwards nobody may wait any more.
  void Calm();

  // The first violation; empty while all is well.
  const std::string& violation() const { return violation_; }

  // For the test of the test: that all this really happened.
  struct Tally {
    uint64_t granted = 0, succeeded = 0, failed = 0, revoked = 0, gave_up = 0, late_refused = 0,
             asked = 0, restarts = 0, answered = 0;
  };
  const Tally& tally() const { return tally_; }

 private:
  struct Client {
    Key key;
    bool asked = false;
  };
  struct Holding {
    WorkerId worker;
    LeaseToken token;
    Key key;
  };
  struct Machine {
    WorkerOffer offer;
    absl::Time last_heard;
    std::vector<Holding> holdings;  // What it believes to hold.
  };

  void Violate(std::string what);
  size_t Pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool Chance(double p) { return std::bernoulli_distribution(p)(random_); }
  Toolchain RandomToolchain();
  KeyMaterial MaterialOf(size_t index) const;

  void NewScheduler();
  void ClientComes();
  void ClientLeaves();
  void LookupEnds();
  void GraphArrives();
  void WorkerComes(WorkerOffer offer);
  void WorkerGoes();
  void WorkerBeats(WorkerId id);
  void WorkerReports();
  void LateReport();
  void CommitEnds(bool always_succeeds);
  void FailureIsStored();
  void TimePasses();
  void Restart();

  void CarryOut();
  void Answered(const Key& key, const std::vector<CallerId>& callers);
  void Check();

  std::mt19937_64 random_;
  std::string violation_;
  Tally tally_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Time latest_ = now_;  // Time as the scheduler has it: it never goes back.
  std::unique_ptr<Scheduler> scheduler_;
  uint64_t next_id_ = 1;

  // The store.
  std::set<Key> ready_;
  std::set<Key> graphs_;
  std::map<Key, QueuedCompile> queue_;

  // The account.
  std::map<CallerId, Client> clients_;
  std::vector<Key> lookups_;
  std::map<Key, CallerId> asked_;
  std::map<WorkerId, Machine> machines_;
  std::map<LeaseToken, Holding> live_;
  std::map<Key, LeaseToken> lease_of_;
  std::set<LeaseToken> tokens_;   // Ever given out.
  std::vector<Holding> dead_;     // Void, but somebody may still report them.
  std::vector<Holding> claimed_;  // Being committed.
  std::vector<Key> ending_;       // Given up, being stored.
};

}  // namespace neffcache
