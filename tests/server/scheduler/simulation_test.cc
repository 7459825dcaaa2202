#include "tests/server/scheduler/simulation.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace neffcache {
namespace {

// NEFFCACHE_SIMULATION_SEED and NEFFCACHE_SIMULATION_STEPS repeat a run, or make a longer one.
uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

class SimulationTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SimulationTest, LeasesStayUniqueAndEveryWaiterEndsWhateverHappens) {
  const uint64_t seed = FromEnvironment("NEFFCACHE_SIMULATION_SEED", GetParam());
  const uint64_t steps = FromEnvironment("NEFFCACHE_SIMULATION_STEPS", 200'000);
  std::printf("simulation seed %llu, %llu steps\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(steps));
  Simulation simulation(seed);
  for (uint64_t step = 0; step < steps; ++step) {
    simulation.Step();
    ASSERT_EQ(simulation.violation(), "") << "seed " << seed << ", step " << step;
  }
  const Simulation::Tally tally = simulation.tally();
  simulation.Calm();
  ASSERT_EQ(simulation.violation(), "") << "seed " << seed << ", when all was calm";

  // All that the simulation is for did happen.
  EXPECT_GT(tally.granted, steps / 1000);
  EXPECT_GT(tally.succeeded, steps / 5000);
  EXPECT_GT(tally.failed, steps / 5000);
  EXPECT_GT(tally.revoked, steps / 5000);
  EXPECT_GT(tally.gave_up, 0u);
  EXPECT_GT(tally.late_refused, steps / 1000);
  EXPECT_GT(tally.asked, steps / 5000);
  EXPECT_GT(tally.answered, steps / 1000);
  EXPECT_GT(tally.restarts, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulationTest, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace neffcache
