#include "graph/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Words(absl::string_view line) {
  return absl::StrSplit(line, ' ', absl::SkipEmpty());
}

struct PlainCase {
  const char* description;
  const char* line;
  const char* input;
  const char* output;
  const char* logfile;
  const char* flags;
};

// The command lines that the known callers run.
const PlainCase kPlain[] = {
    {"libneuronxla up to 2.12: target before the sub-command",
     "--target=trn1 compile --framework XLA W/M.hlo.pb --output W/M.neff --model-type=transformer "
     "--verbose=35",
     "W/M.hlo.pb", "W/M.neff", "",
     "--target=trn1 --framework XLA --model-type=transformer --verbose=35"},
    {"libneuronxla 2.13 to 2.15",
     "compile --target=trn1 --framework=XLA W/M.hlo_module.pb --output W/M.neff -O1 --verbose=35",
     "W/M.hlo_module.pb", "W/M.neff", "", "--target=trn1 --framework=XLA -O1 --verbose=35"},
    {"libneuronxla from 2.16",
     "compile --framework=XLA W/M.hlo_module.pb --output W/M.neff --target=trn1 "
     "--enable-saturate-infinity --verbose=35",
     "W/M.hlo_module.pb", "W/M.neff", "",
     "--framework=XLA --target=trn1 --enable-saturate-infinity --verbose=35"},
    {"transformers-neuronx dump",
     "compile --framework=XLA --target=trn1 X.pb --output=X.neff --verbose=INFO --pipeline compile "
     "SaveTemps",
     "X.pb", "X.neff", "",
     "--framework=XLA --target=trn1 --verbose=INFO --pipeline compile SaveTemps"},
    {"nkipy",
     "compile --framework XLA hlo_module.pb --pipeline compile SaveTemps --target trn2 "
     "--output=file.neff --lnc 1 --internal-tensorizer-opt-level=2",
     "hlo_module.pb", "file.neff", "",
     "--framework XLA --pipeline compile SaveTemps --target trn2 --lnc 1 "
     "--internal-tensorizer-opt-level=2"},
    {"vLLM-Neuron",
     "compile D/graph.hlo --framework XLA --target trn2 --output D/graph_1.neff --logfile "
     "D/log-neuron-cc.txt -lnc 2",
     "D/graph.hlo", "D/graph_1.neff", "D/log-neuron-cc.txt",
     "--framework XLA --target trn2 -lnc 2"},
    {"TorchNeuron",
     "compile module.mlir --framework XLA --target trn2 --model-type transformer --lnc 2 -O1 "
     "--auto-cast=none --output module.neff",
     "module.mlir", "module.neff", "",
     "--framework XLA --target trn2 --model-type transformer --lnc 2 -O1 --auto-cast=none"},
    {"short output, separate optimization level", "compile -O 1 g.pb -o g.neff --logfile=l.txt",
     "g.pb", "g.neff", "l.txt", "-O 1"},
    {"the last output wins", "compile g.pb --output a.neff --output=b.neff", "g.pb", "b.neff", "",
     ""},
    {"unknown switch before the input", "compile --enable-new-thing g.anything --output o.neff",
     "g.anything", "o.neff", "", "--enable-new-thing"},
    {"unknown flag with a value", "compile --execute-repetition 2 g.pb --output o.neff", "g.pb",
     "o.neff", "", "--execute-repetition 2"},
    {"unknown flag before the graph", "compile --brand-new g.pb --output o.neff", "g.pb", "o.neff",
     "", "--brand-new"},
    {"unknown flag before the sub-command", "--brand-new compile g.pb --output o.neff", "g.pb",
     "o.neff", "", "--brand-new"},
    {"verbosity without a level", "compile --verbose g.pb --output o.neff", "g.pb", "o.neff", "",
     "--verbose"},
    {"negative numbers are values", "compile g.pb --some-offset -1 --output o.neff", "g.pb",
     "o.neff", "", "--some-offset -1"},
};

TEST(CommandLineTest, KnownCallersArePlainCompiles) {
  for (const PlainCase& c : kPlain) {
    SCOPED_TRACE(c.description);
    const CommandLine line = ParseCommandLine(Words(c.line));
    EXPECT_EQ(line.subcommand, "compile");
    EXPECT_THAT(line.inputs, ElementsAre(c.input));
    EXPECT_EQ(line.output, c.output);
    EXPECT_EQ(line.logfile, c.logfile);
    EXPECT_EQ(line.flags, Words(c.flags));
    EXPECT_TRUE(line.IsPlainCompile());
  }
}

TEST(CommandLineTest, EverythingElseIsLeftToTheCompiler) {
  for (const char* line : {
           "",
           "--version",
           "--help",
           "compile",
           "compile --help",
           "list-operators --framework XLA",
           "compile g.pb",                                     // No output.
           "compile g.pb --output",                            // Output without a name.
           "compile g.pb --output=",                           //
           "compile g.pb h.pb --output o.neff",                // Two inputs.
           "compile --output o.neff",                          // No input.
           "compile g.pb --output o.neff --help",              //
           "compile g.pb --output o.neff --version",           //
           "compile -h g.pb --output o.neff",                  //
           "compile --output o.neff -- g.pb",                  //
           "compile - --output o.neff",                        // Standard input.
           "compile @arguments --output o.neff",               // A response file.
           "translate g.pb --output o.neff",                   // Another sub-command.
           "g.pb --output o.neff",                             //
           "compile --pipeline compile g.pb --output o.neff",  // The pipeline takes every word.
           "compile —-framework XLA g.pb --output o.neff",     // Typographic dash.
       }) {
    EXPECT_FALSE(ParseCommandLine(Words(line)).IsPlainCompile()) << line;
  }
}

TEST(CommandLineTest, ListOperatorsKeepsItsFlags) {
  const CommandLine line = ParseCommandLine(Words("list-operators --framework XLA"));
  EXPECT_EQ(line.subcommand, "list-operators");
  EXPECT_THAT(line.inputs, IsEmpty());
  EXPECT_THAT(line.flags, ElementsAre("--framework", "XLA"));
}

TEST(CommandLineTest, EmptyWordsAreKept) {
  const std::vector<std::string> arguments = {"compile", "", "--output", "o.neff"};
  const CommandLine line = ParseCommandLine(arguments);
  EXPECT_THAT(line.inputs, ElementsAre(""));
  EXPECT_FALSE(line.IsPlainCompile());
}

TEST(CommandLineTest, ValuesWithBlanksStayWhole) {
  const std::vector<std::string> arguments = {"compile", "g.pb", "--tensorizer-options=--a=1 --b",
                                              "--output", "o.neff"};
  const CommandLine line = ParseCommandLine(arguments);
  EXPECT_THAT(line.flags, ElementsAre("--tensorizer-options=--a=1 --b"));
  EXPECT_TRUE(line.IsPlainCompile());
}

}  // namespace
}  // namespace neffcache
