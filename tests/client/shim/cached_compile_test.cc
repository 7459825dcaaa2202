#include "client/shim/cached_compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/client/shim/scratch_directory.h"

namespace neffcache::shim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A client whose answers the test gives.
class ScriptedClient : public Client {
 public:
  std::function<absl::StatusOr<CompileOutcome>(const CompileSpec&, const WaitOptions&)> compile;
  std::function<absl::Status(const CompileOutcome&, const std::string&)> save;
  std::string log;  // Empty: cannot be had.

  absl::StatusOr<CompileOutcome> GetOrCompile(const CompileSpec& spec,
                                              const WaitOptions& options) override {
    return compile(spec, options);
  }
  absl::Status Save(const CompileOutcome& outcome, const std::string& path) override {
    return save(outcome, path);
  }
  absl::StatusOr<std::string> ReadLog(const std::string& key) override {
    if (log.empty()) return absl::UnavailableError("the daemon has gone");
    return absl::StrCat(log, " of ", key);
  }
  absl::StatusOr<std::vector<KeyState>> Lookup(absl::Span<const std::string>,
                                               absl::string_view) override {
    return absl::UnimplementedError("lookup");
  }
  absl::Status Fetch(const ArtifactName&, const std::string&) override {
    return absl::UnimplementedError("fetch");
  }
  absl::StatusOr<bool> Publish(const CompileSpec&, const std::string&, absl::Duration) override {
    return absl::UnimplementedError("publish");
  }
  absl::StatusOr<std::vector<BundleEntry>> GetBundle(const std::string&) override {
    return absl::UnimplementedError("bundle");
  }
  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ListToolchains() override {
    return absl::UnimplementedError("toolchains");
  }
};

class CachedCompileTest : public ::testing::Test {
 protected:
  CachedCompileTest() {
    scratch_.Write("g.pb", "opaque graph");
    options_.command_line.subcommand = "compile";
    options_.command_line.inputs = {scratch_ / "g.pb"};
    options_.command_line.output = scratch_ / "g.neff";
    options_.command_line.flags = {"--framework=XLA", "--target=trn1"};
    options_.toolchain_version = "2.27.1+abc";
    options_.bundle = "bert";
    options_.daemon = "cache:7433";
    options_.wait = absl::Minutes(5);
    client_.save = [](const CompileOutcome&, const std::string& path) {
      std::ofstream(path) << "artifact";
      return absl::OkStatus();
    };
    client_.compile = [this](const CompileSpec&, const WaitOptions&) { return outcome_; };
  }

  // What `ending` is, and that nothing was left at the output.
  template <typename T>
  T WithoutOutput(const Ending& ending) {
    EXPECT_THAT(scratch_.Names(), ElementsAre("g.pb"));
    EXPECT_TRUE(std::holds_alternative<T>(ending)) << ending.index();
    return std::holds_alternative<T>(ending) ? std::get<T>(ending) : T{};
  }

  Ending Fail(CompileFailure failure) {
    CompileOutcome outcome;
    outcome.key = "feed";
    outcome.failure = std::move(failure);
    outcome_ = outcome;
    return CompileThroughCache(client_, options_);
  }

  CompileOutcome Ready() {
    CompileOutcome outcome;
    outcome.key = "feed";
    outcome.artifact = ArtifactName{"cafe", 8};
    return outcome;
  }

  ScratchDirectory scratch_;
  ScriptedClient client_;
  CachedCompileOptions options_;
  absl::StatusOr<CompileOutcome> outcome_ = Ready();
};

TEST_F(CachedCompileTest, AnArtifactEndsUpAtTheOutputAndNothingBesideIt) {
  const Ending ending = CompileThroughCache(client_, options_);
  ASSERT_TRUE(std::holds_alternative<Served>(ending));
  EXPECT_THAT(std::get<Served>(ending).log_text, HasSubstr("artifact cafe of key feed"));
  EXPECT_EQ(scratch_.Read("g.neff"), "artifact");
  EXPECT_THAT(scratch_.Names(), ElementsAre("g.neff", "g.pb"));
}

TEST_F(CachedCompileTest, TheSpecSaysWhatTheCommandLineSays) {
  CompileSpec asked;
  WaitOptions waited;
  client_.compile = [&](const CompileSpec& spec, const WaitOptions& options) {
    asked = spec;
    waited = options;
    return outcome_;
  };
  CompileThroughCache(client_, options_);
  EXPECT_EQ(asked.graph_path, scratch_ / "g.pb");
  EXPECT_THAT(asked.flags, ElementsAre("--framework=XLA", "--target=trn1"));
  EXPECT_EQ(asked.toolchain_name, "neuronx-cc");
  EXPECT_EQ(asked.toolchain_version, "2.27.1+abc");
  EXPECT_EQ(asked.bundle, "bert");
  EXPECT_EQ(waited.timeout, absl::Minutes(5));
  EXPECT_TRUE(waited.refuse_unknown_toolchain);
}

TEST_F(CachedCompileTest, WithoutACompilerItWaitsForAWorker) {
  options_.have_compiler = false;
  client_.compile = [&](const CompileSpec&, const WaitOptions& options) {
    EXPECT_FALSE(options.refuse_unknown_toolchain);
    return outcome_;
  };
  EXPECT_TRUE(std::holds_alternative<Served>(CompileThroughCache(client_, options_)));
}

TEST_F(CachedCompileTest, EveryStepIsASignOfLifeWithALimitForTheNext) {
  std::vector<absl::Duration> limits;
  options_.on_alive = [&](absl::Duration limit) { limits.push_back(limit); };
  client_.compile = [&](const CompileSpec&, const WaitOptions& options) {
    EXPECT_EQ(limits.size(), 1u);
    options.on_progress(CompileProgress{});
    options.on_progress(CompileProgress{});
    EXPECT_EQ(limits.size(), 3u);
    return outcome_;
  };
  outcome_->artifact->size = 100'000'000;
  CompileThroughCache(client_, options_);
  ASSERT_EQ(limits.size(), 4u);
  EXPECT_LT(limits[2], absl::Minutes(1));
  EXPECT_GT(limits[3], absl::Minutes(1)) << "a large download takes its time";
}

TEST_F(CachedCompileTest, ADeterministicFailureIsRepeated) {
  CompileFailure failure;
  failure.failure_class = "deterministic";
  failure.exit_code = 3;
  failure.log_tail = "ERROR NCC_EARG002: unknown flag";
  const auto repeated = WithoutOutput<RepeatedFailure>(Fail(failure));
  EXPECT_EQ(repeated.exit_code, 3);
  EXPECT_EQ(repeated.signal, 0);
  EXPECT_EQ(repeated.output, "ERROR NCC_EARG002: unknown flag\n");
}

TEST_F(CachedCompileTest, AFailureWhoseLogIsCutIsRepeatedWithTheKeptOne) {
  CompileFailure failure;
  failure.failure_class = "deterministic";
  failure.log_tail = "the end\n";
  failure.log_is_cut = true;
  EXPECT_EQ(WithoutOutput<RepeatedFailure>(Fail(failure)).output, "the end\n")
      << "better than nothing when it cannot be had";
  client_.log = "the whole log";
  EXPECT_EQ(WithoutOutput<RepeatedFailure>(Fail(failure)).output, "the whole log of feed\n");
  failure.log_is_cut = false;
  EXPECT_EQ(WithoutOutput<RepeatedFailure>(Fail(failure)).output, "the end\n");
}

TEST_F(CachedCompileTest, ARememberedFailureIsRepeatedWhateverItsClass) {
  CompileFailure failure;
  failure.failure_class = "unclear";
  failure.remembered = true;
  failure.message = "the compiler ended with 70";
  const auto repeated = WithoutOutput<RepeatedFailure>(Fail(failure));
  EXPECT_EQ(repeated.exit_code, 70);
  EXPECT_EQ(repeated.output, "the compiler ended with 70\n");
}

TEST_F(CachedCompileTest, AnyOtherFailureIsCompiledHereAndSaid) {
  for (const char* failure_class : {"memory", "transient", "unclear"}) {
    CompileFailure failure;
    failure.failure_class = failure_class;
    failure.message = "out of luck";
    failure.worker = "worker-3";
    const auto here = WithoutOutput<CompileHere>(Fail(failure));
    EXPECT_EQ(here.audience, Audience::kUser);
    EXPECT_THAT(here.reason, HasSubstr("worker-3"));
    EXPECT_THAT(here.reason, HasSubstr(failure_class));
  }
}

TEST_F(CachedCompileTest, WithoutACompilerAnyFailureIsPassedOn) {
  options_.have_compiler = false;
  CompileFailure failure;
  failure.failure_class = "memory";
  failure.signal = 9;
  EXPECT_EQ(WithoutOutput<RepeatedFailure>(Fail(failure)).signal, 9);
}

TEST_F(CachedCompileTest, AnUnreachableDaemonIsSaid) {
  outcome_ = absl::UnavailableError("reaching cache:7433: refused");
  const auto here = WithoutOutput<CompileHere>(CompileThroughCache(client_, options_));
  EXPECT_EQ(here.reason, "reaching cache:7433: refused");
  EXPECT_EQ(here.audience, Audience::kUser);
}

TEST_F(CachedCompileTest, AGraphThatIsNotThereIsTheCompilersToReport) {
  options_.command_line.inputs = {scratch_ / "missing.pb"};
  outcome_ = absl::NotFoundError("reading missing.pb: No such file");
  const auto here = WithoutOutput<CompileHere>(CompileThroughCache(client_, options_));
  EXPECT_EQ(here.audience, Audience::kVerbose);
}

TEST_F(CachedCompileTest, AMissingToolchainIsSaid) {
  outcome_ = absl::FailedPreconditionError("no worker offers neuronx-cc 2.27.1");
  const auto here = WithoutOutput<CompileHere>(CompileThroughCache(client_, options_));
  EXPECT_EQ(here.audience, Audience::kUser);
}

TEST_F(CachedCompileTest, ABrokenDownloadIsCompiledHere) {
  client_.save = [](const CompileOutcome&, const std::string& path) {
    std::ofstream(path + ".temporary") << "half";
    return absl::DataLossError("artifact cafe: the bytes do not have the digest");
  };
  const auto here = WithoutOutput<CompileHere>(CompileThroughCache(client_, options_));
  EXPECT_THAT(here.reason, HasSubstr("digest"));
}

TEST_F(CachedCompileTest, ADiskWithoutRoomIsHopeless) {
  outcome_->artifact->size = uint64_t{1} << 60;
  client_.save = [](const CompileOutcome&, const std::string&) {
    return absl::ResourceExhaustedError("writing: No space left on device");
  };
  const auto hopeless = WithoutOutput<Hopeless>(CompileThroughCache(client_, options_));
  EXPECT_THAT(hopeless.reason, HasSubstr("g.neff"));
}

TEST_F(CachedCompileTest, AnOutputThatNobodyCanWriteIsHopelessBeforeAnythingIsAsked) {
  options_.command_line.output = scratch_ / "g.pb/g.neff";
  client_.compile = [&](const CompileSpec&, const WaitOptions&) {
    ADD_FAILURE() << "asked the daemon";
    return outcome_;
  };
  WithoutOutput<Hopeless>(CompileThroughCache(client_, options_));
}

TEST_F(CachedCompileTest, AnAnswerWithNothingInItIsCompiledHere) {
  outcome_ = CompileOutcome{};
  WithoutOutput<CompileHere>(CompileThroughCache(client_, options_));
}

}  // namespace
}  // namespace neffcache::shim
