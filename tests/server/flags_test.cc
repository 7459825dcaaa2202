#include "server/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace neffcache {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FlagsTest : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("NEFFCACHE_CONFIG"); }

  absl::variant<DaemonConfig, ExitNow> Read(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "neffcached");
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    auto read = ReadFlags(static_cast<int>(arguments.size()), arguments.data());
    stdout_ = ::testing::internal::GetCapturedStdout();
    stderr_ = ::testing::internal::GetCapturedStderr();
    return read;
  }
  int ExitOf(const std::vector<const char*>& arguments) {
    const auto read = Read(arguments);
    const ExitNow* exit = absl::get_if<ExitNow>(&read);
    return exit == nullptr ? -1 : exit->status;
  }
  DaemonConfig ConfigOf(const std::vector<const char*>& arguments) {
    const auto read = Read(arguments);
    EXPECT_TRUE(absl::holds_alternative<DaemonConfig>(read)) << stderr_;
    const DaemonConfig* config = absl::get_if<DaemonConfig>(&read);
    return config == nullptr ? DaemonConfig() : *config;
  }
  std::string WriteConfig(const std::string& text) {
    const std::string path = ::testing::TempDir() + "/neffcached-" +
                             ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ofstream(path) << text;
    return path;
  }

  std::string stdout_;
  std::string stderr_;
};

TEST_F(FlagsTest, DefaultsServeLoopbackWithOneWorker) {
  const DaemonConfig config = ConfigOf({"--data-dir", "/d"});
  EXPECT_EQ(config.data_dir, "/d");
  EXPECT_EQ(config.listen, "127.0.0.1:7433");
  EXPECT_EQ(config.workers, 1u);
  EXPECT_EQ(config.inline_limit_bytes, uint64_t{1} << 20);
  EXPECT_EQ(config.failure_ttl, absl::Hours(24));
  EXPECT_EQ(config.heartbeat_interval, absl::Seconds(5));
  EXPECT_EQ(config.drain_timeout, absl::Seconds(20));
}

TEST_F(FlagsTest, SizesAndDurationsHaveUnits) {
  const DaemonConfig config =
      ConfigOf({"--data-dir=/d", "--worker-memory=64GB", "--graph-limit=1.5GiB", "--inline-limit",
                "65536", "--failure-ttl=90m", "--compile-time-limit=1h30m"});
  EXPECT_EQ(config.worker_memory_bytes, uint64_t{64} << 30);
  EXPECT_EQ(config.graph_limit_bytes, uint64_t{3} << 29);
  EXPECT_EQ(config.inline_limit_bytes, 65536u);
  EXPECT_EQ(config.failure_ttl, absl::Minutes(90));
  EXPECT_EQ(config.compile_time_limit, absl::Minutes(90));
}

TEST_F(FlagsTest, AllMistakesAreReportedAtOnce) {
  EXPECT_EQ(ExitOf({"--listen=here", "--workers=-1", "--worker-memory=lots", "--inline-limit=2MiB",
                    "--failure-ttl=soon", "--heartbeat-interval=1ms", "--log-level=loud",
                    "--worker-toolchain=nope", "--drain-timeout=later"}),
            2);
  EXPECT_THAT(
      stderr_,
      AllOf(HasSubstr("--data-dir: is required"), HasSubstr("--listen: \"here\""),
            HasSubstr("--workers: \"-1\""), HasSubstr("--worker-memory: \"lots\""),
            HasSubstr("--inline-limit: \"2MiB\""), HasSubstr("--failure-ttl: \"soon\""),
            HasSubstr("--heartbeat-interval: \"1ms\""), HasSubstr("--log-level: \"loud\""),
            HasSubstr("--worker-toolchain: unknown toolchain \"nope\"; known are neuronx-cc, "
                      "xla-cpu"),
            HasSubstr("--drain-timeout: \"later\"")));
}

TEST_F(FlagsTest, WithoutTlsOtherMachinesAreServedOnRequestOnly) {
  EXPECT_EQ(ExitOf({"--data-dir=/d", "--listen=0.0.0.0:7433"}), 2);
  EXPECT_THAT(stderr_, HasSubstr("--insecure-allow-remote"));
  EXPECT_EQ(ConfigOf({"--data-dir=/d", "--listen=0.0.0.0:7433", "--insecure-allow-remote"}).listen,
            "0.0.0.0:7433");
}

TEST_F(FlagsTest, RebuildingTheIndexIsAskedForOnTheCommandLineOnly) {
  EXPECT_FALSE(ConfigOf({"--data-dir=/d"}).rebuild_index);
  EXPECT_TRUE(ConfigOf({"--data-dir=/d", "--rebuild-index"}).rebuild_index);
  // A daemon that finds it in its file would never serve.
  const std::string path = WriteConfig("data-dir=\"/d\"\nrebuild-index=true\n");
  EXPECT_EQ(ExitOf({"--config", path.c_str()}), 2);
}

TEST_F(FlagsTest, AnUnknownFlagIsAUsageError) {
  EXPECT_EQ(ExitOf({"--data-dir=/d", "--no-such-flag"}), 2);
  EXPECT_THAT(stderr_, HasSubstr("--no-such-flag"));
}

TEST_F(FlagsTest, HelpAndVersionAreNoErrors) {
  EXPECT_EQ(ExitOf({"--version"}), 0);
  EXPECT_THAT(stdout_, HasSubstr("neffcached 0."));
  EXPECT_EQ(ExitOf({"--help"}), 0);
  EXPECT_THAT(stdout_, HasSubstr("--data-dir"));
}

TEST_F(FlagsTest, TheConfigFileGivesWhatTheCommandLineDoesNot) {
  const std::string path = WriteConfig(
      "data-dir=\"/from/file\"\nworkers=3\nworker-toolchain=[\"xla-cpu\",\"neuronx-cc\"]\n");
  DaemonConfig config = ConfigOf({"--config", path.c_str(), "--workers=0"});
  EXPECT_EQ(config.data_dir, "/from/file");
  EXPECT_EQ(config.workers, 0u);
  EXPECT_THAT(config.worker_toolchains, ElementsAre("xla-cpu", "neuronx-cc"));
  setenv("NEFFCACHE_CONFIG", path.c_str(), 1);
  config = ConfigOf({});
  unsetenv("NEFFCACHE_CONFIG");
  EXPECT_EQ(config.workers, 3u);
}

TEST_F(FlagsTest, TheSectionsOfTheOtherProgramsAreNotRead) {
  const std::string path = WriteConfig(
      "inline-limit=\"64KiB\"\n[neffcache]\ndaemon=\"cache:7433\"\n[neffcached]\n"
      "data-dir=\"/d\"\nworkers=3\n[neffcache-worker]\nslots=8\nworkers=9\n");
  const DaemonConfig config = ConfigOf({"--config", path.c_str()});
  EXPECT_EQ(config.data_dir, "/d");
  EXPECT_EQ(config.workers, 3u);
  EXPECT_EQ(config.inline_limit_bytes, 64u << 10);
  const std::string wrong = WriteConfig("[neffcached]\ndata-dir=\"/d\"\nwrokers=3\n");
  EXPECT_EQ(ExitOf({"--config", wrong.c_str()}), 2);
  EXPECT_THAT(stderr_, HasSubstr("wrokers"));
}

TEST_F(FlagsTest, AMistypedConfigKeyIsAnError) {
  const std::string path = WriteConfig("data-dir=\"/d\"\nwrokers=3\n");
  EXPECT_EQ(ExitOf({"--config", path.c_str()}), 2);
  EXPECT_THAT(stderr_, HasSubstr("wrokers"));
  EXPECT_EQ(ExitOf({"--config", "/no/such/file"}), 2);
}

}  // namespace
}  // namespace neffcache
