#include "graph/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kNeuron[] = "neuronx-cc";

std::vector<std::string> Words(absl::string_view line) {
  return absl::StrSplit(line, ' ', absl::SkipEmpty());
}

std::string Normalized(const std::vector<std::string>& flags) {
  const auto options = NormalizeOptions(kNeuron, flags);
  return options.ok() ? absl::StrJoin(options->arguments, " ")
                      : std::string(options.status().message());
}

struct SpellingCase {
  const char* flags;
  const char* normalized;
};

const SpellingCase kSpellings[] = {
    {"", ""},
    {"--target trn1", "--target=trn1"},
    {"--target=trn1", "--target=trn1"},
    {"--framework XLA --target trn2", "--target=trn2"},
    {"--target trn2 --framework=XLA", "--target=trn2"},
    {"--target trn2 --framework=xla", "--framework=xla --target=trn2"},
    {"--framework=XLA --framework=other", "--framework=other"},
    // Optimization level, in every spelling.
    {"-O1", "--optlevel=1"},
    {"-O 1", "--optlevel=1"},
    {"-O=1", "--optlevel=1"},
    {"--optlevel 1", "--optlevel=1"},
    {"--optlevel=1", "--optlevel=1"},
    {"--optlevel=2 -O1", "--optlevel=1"},
    // Logical core configuration.
    {"-lnc 2", "--logical-nc-config=2"},
    {"-lnc=2", "--logical-nc-config=2"},
    {"--lnc 2", "--logical-nc-config=2"},
    {"--lnc=2", "--logical-nc-config=2"},
    {"--logical-nc-config 2", "--logical-nc-config=2"},
    {"--lnc 1 --logical-nc-config=2", "--logical-nc-config=2"},
    // Renamed value.
    {"--distribution-strategy NEMO", "--distribution-strategy=llm-training"},
    {"--distribution-strategy=nemo", "--distribution-strategy=llm-training"},
    {"--distribution-strategy=llm-training", "--distribution-strategy=llm-training"},
    // The right-most one wins.
    {"--model-type=transformer-inference --model-type=transformer", "--model-type=transformer"},
    {"--auto-cast none --auto-cast all --auto-cast=matmult", "--auto-cast=matmult"},
    // Defaults are not filled in, and explicit defaults stay.
    {"--auto-cast=none --auto-cast-type=bf16", "--auto-cast=none --auto-cast-type=bf16"},
    {"--native-int64=default --implicit-integer-downcast dot,scatter",
     "--implicit-integer-downcast=dot,scatter --native-int64=default"},
    // Switches.
    {"--enable-saturate-infinity --enable-saturate-infinity", "--enable-saturate-infinity"},
    {"--enable-mixed-precision-accumulation --disable-mixed-precision-accumulation",
     "--disable-mixed-precision-accumulation"},
    {"--disable-mixed-precision-accumulation --enable-mixed-precision-accumulation",
     "--enable-mixed-precision-accumulation"},
    {"--disable-dge --enable-dge", "--enable-dge"},
    {"--target trn1 --enable-fast-context-switch --auto-cast none",
     "--auto-cast=none --enable-fast-context-switch --target=trn1"},
    // Without effect on the code.
    {"--output x.neff -o y.neff --output=z.neff", ""},
    {"--logfile /tmp/a/log.txt --logfile-verbose=35 --logfile-verbose debug", ""},
    {"--verbose 35 --verbose=INFO --verbose info --verbose", ""},
    {"--verbose --target trn1", "--target=trn1"},
    {"--cache_dir=/x --cache_dir /y --no_cache --no-cache --retry_failed_compilation", ""},
    {"--log_level=INFO --log_level ERROR", ""},
    // Unknown tokens: verbatim and in order, after the known ones.
    {"--internal-b=2 --internal-a=1 --target trn1", "--target=trn1 --internal-b=2 --internal-a=1"},
    {"--execute-repetition 1 --execute-repetition=1",
     "--execute-repetition 1 --execute-repetition=1"},
    {"--execute-repetition=1 --execute-repetition=1",
     "--execute-repetition=1 --execute-repetition=1"},
    {"--hbm-scratchpad-page-size 1024 -O1", "--optlevel=1 --hbm-scratchpad-page-size 1024"},
    {"--pipeline compile --target trn1", "--target=trn1 --pipeline compile"},
    // Not ours to understand.
    {"-Ofast", "-Ofast"},
    {"-lnc2", "-lnc2"},
    {"-output x", "-output x"},
};

TEST(OptionsTest, EverySpellingIsFolded) {
  for (const SpellingCase& c : kSpellings) {
    EXPECT_EQ(Normalized(Words(c.flags)), c.normalized) << c.flags;
    const auto options = NormalizeOptions(kNeuron, Words(c.flags));
    ASSERT_TRUE(options.ok());
    EXPECT_TRUE(options->cacheable()) << c.flags << ": " << options->uncacheable_reason;
  }
}

TEST(OptionsTest, NormalizingTwiceChangesNothing) {
  for (const SpellingCase& c : kSpellings) {
    const std::vector<std::string> once = NormalizeOptions(kNeuron, Words(c.flags))->arguments;
    EXPECT_EQ(NormalizeOptions(kNeuron, once)->arguments, once) << c.flags;
  }
}

TEST(OptionsTest, ParallelCompileReadsTheSameFlags) {
  EXPECT_THAT(NormalizeOptions("neuron-parallel-compile", Words("-O1 --target trn1"))->arguments,
              ElementsAre("--optlevel=1", "--target=trn1"));
}

TEST(OptionsTest, OtherToolchainsKeepTheirFlags) {
  EXPECT_THAT(NormalizeOptions("xla-cpu", Words("-O1 --output x --num-replicas 2"))->arguments,
              ElementsAre("-O1", "--output", "x", "--num-replicas", "2"));
}

TEST(OptionsTest, BlanksInsideValuesSurvive) {
  const std::vector<std::string> flags = {"--tensorizer-options=--a --target=trn1", "-O1"};
  EXPECT_THAT(NormalizeOptions(kNeuron, flags)->arguments,
              ElementsAre("--optlevel=1", "--tensorizer-options=--a --target=trn1"));
  // A value in a token of its own is not searched for flags either.
  const std::vector<std::string> apart = {"--tensorizer-options", "a --target=trn1", "-O1"};
  EXPECT_THAT(NormalizeOptions(kNeuron, apart)->arguments,
              ElementsAre("--optlevel=1", "--tensorizer-options", "a --target=trn1"));
}

TEST(OptionsTest, FlagWithoutItsValueIsAnError) {
  for (const char* line :
       {"--target", "-O", "--target --auto-cast none", "--output", "--lnc -O1"}) {
    const auto options = NormalizeOptions(kNeuron, Words(line));
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(options.status().message(), HasSubstr("needs a value")) << line;
  }
}

TEST(OptionsTest, WhatTheKeyCannotCoverIsUncacheable) {
  for (const char* line : {
           "--pipeline compile SaveTemps",    // Extra files.
           "--pipeline=SaveTemps",            //
           "--dump-on-error",                 //
           "--internal-dump-ir=x",            //
           "--enable-internal-neff-wrapper",  // A second artifact.
           "--optl 1",                        // Perhaps --optlevel, which sorting would overrule.
           "--auto=none",                     //
           "--enable-experimental-O1 -O2",    // Two spellings of one thing.
           "--enable-dge=1",                  // A switch with a value.
           "stray",                           // Another input, perhaps.
           "--target trn1 stray",             //
           "-- x",                            //
           "--some-flag 1 2",                 //
           "--some-flag --verbose 35 2",      //
       }) {
    const auto options = NormalizeOptions(kNeuron, Words(line));
    ASSERT_TRUE(options.ok()) << line;
    EXPECT_FALSE(options->cacheable()) << line;
  }
  EXPECT_EQ(NormalizeOptions(kNeuron, Words("--pipeline compile SaveTemps"))->uncacheable_reason,
            "SaveTemps asks for extra outputs");
  const std::vector<std::string> blank = {"--optlevel=1 --foo"};
  EXPECT_FALSE(NormalizeOptions(kNeuron, blank)->cacheable());
}

TEST(OptionsTest, ValueThatNamesAFileIsUncacheable) {
  const FileExists exists = [](const std::string& path) {
    return path == "/k/table.json" || path == "trn1";
  };
  for (const char* line : {"--table=/k/table.json", "--table /k/table.json", "/k/table.json",
                           "--options=--a=/k/table.json,b", "--model-type=/k/table.json"}) {
    const auto options = NormalizeOptions(kNeuron, Words(line), exists);
    ASSERT_TRUE(options.ok()) << line;
    EXPECT_FALSE(options->cacheable()) << line;
    EXPECT_TRUE(absl::StrContains(options->uncacheable_reason, "/k/table.json") ||
                absl::StrContains(options->uncacheable_reason, "belongs to no flag"));
  }
  // Documented flags take no files, but a directory may have the name of a value; dropped ones do
  // not matter.
  for (const char* line : {"--target=trn1", "--logfile /k/table.json", "--table=/k/other.json"}) {
    EXPECT_TRUE(NormalizeOptions(kNeuron, Words(line), exists)->cacheable()) << line;
  }
  EXPECT_FALSE(NormalizeOptions("xla-cpu", Words("--t=/k/table.json"), exists)->cacheable());
}

TEST(OptionsTest, WorkersRefuseFlagsThatWriteFilesOrLoadCode) {
  for (const char* line : {
           "--output x",
           "-o x",
           "--output=x",
           "--logfile=x",
           "--dump-ir",
           "--internal-dump=1",
           "--pipeline compile SaveTemps",
           "--plugin=a",
           "--internal-load-library=x.so",
           "--table=/etc/passwd",
           "--table /etc/passwd",
           "--table=../x",
           "--table=~/x",
           "--options=--a=/x",
           "@response",
           "graph.pb",
           "--target=trn1 graph.pb",
           "--x=file:///y",
       }) {
    const absl::Status status = CheckAllowedOptions(kNeuron, Words(line));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(status.message(), HasSubstr("is refused for neuronx-cc")) << line;
  }
  const std::vector<std::string> nested = {"--tensorizer-options=--x=1 --dump-all"};
  EXPECT_FALSE(CheckAllowedOptions(kNeuron, nested).ok());
  const std::vector<std::string> nul = {std::string("--a\0b", 5)};
  EXPECT_FALSE(CheckAllowedOptions(kNeuron, nul).ok());
}

TEST(OptionsTest, WorkersAcceptWhatTrainersUse) {
  for (const SpellingCase& c : kSpellings) {
    if (absl::StrContains(c.flags, "-output x")) continue;
    const auto arguments = NormalizeOptions(kNeuron, Words(c.flags))->arguments;
    EXPECT_EQ(CheckAllowedOptions(kNeuron, arguments), absl::OkStatus()) << c.flags;
  }
  const std::vector<std::string> nested = {
      "--tensorizer-options=--enable-ccop-compute-overlap --cc-pipeline-tiling-factor=2",
      "--internal-hlo2tensorizer-options=--modular-flow-mac-threshold=10"};
  EXPECT_EQ(CheckAllowedOptions(kNeuron, nested), absl::OkStatus());
}

TEST(OptionsTest, XlaCpuTakesItsOwnFlagsOnly) {
  for (const char* line : {"", "--num-replicas=8", "--num-replicas=2 --num-partitions=2"}) {
    EXPECT_EQ(CheckAllowedOptions("xla-cpu", Words(line)), absl::OkStatus()) << line;
  }
  for (const char* line :
       {"--num-replicas", "--num-replicas=", "--num-replicas=x", "--num-replicas=1e9",
        "--xla_dump_to=/tmp", "--target=trn1", "x", "--use-shardy-partitioner"}) {
    EXPECT_EQ(CheckAllowedOptions("xla-cpu", Words(line)).code(),
              absl::StatusCode::kInvalidArgument)
        << line;
  }
}

TEST(OptionsTest, ConfiguredToolchainsHaveTheGeneralRules) {
  EXPECT_TRUE(CheckAllowedOptions("my-compiler", Words("--level=3 word")).ok());
  EXPECT_FALSE(CheckAllowedOptions("my-compiler", Words("--plugin=evil")).ok());
  EXPECT_FALSE(CheckAllowedOptions("my-compiler", Words("-o /x")).ok());
}

}  // namespace
}  // namespace neffcache
