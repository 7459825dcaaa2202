#include "local_compiler/launch_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/local_compiler/compiler_directory.h"

namespace neffcache {
namespace {

using ::testing::ElementsAre;

class LaunchChainTest : public ::testing::Test {
 protected:
  std::string Wrapper(const std::string& name, const std::string& text) const {
    return directory_.WriteProgram(name, "#!/bin/sh\n" + text);
  }
  std::string ScriptOf(const std::string& text) const {
    return FollowLaunch(Wrapper("wrapper", text)).script;
  }

  const CompilerDirectory directory_{};
  const std::string real_ = directory_.InstallNeuronxCc("venv", "2.27.1.0");
  const std::string python_ = directory_ / "venv/bin/python3";
};

TEST_F(LaunchChainTest, AScriptOfAPythonIsTheEnd) {
  const LaunchChain chain = FollowLaunch(real_);
  EXPECT_THAT(chain.files, ElementsAre(real_, python_));
  EXPECT_EQ(chain.script, real_);
  EXPECT_EQ(chain.python, python_);
}

TEST_F(LaunchChainTest, PipsFormForLongPathsIsAScriptOfThatPython) {
  const std::string script = Wrapper(
      "long", absl::StrCat("'''exec' \"", python_, "\" \"$0\" \"$@\"\n' '''\nimport neuronxcc\n"));
  const LaunchChain chain = FollowLaunch(script);
  EXPECT_THAT(chain.files, ElementsAre(script, python_));
  EXPECT_EQ(chain.script, script);
  EXPECT_EQ(chain.python, python_);
}

TEST_F(LaunchChainTest, WrappersThatOnlyExecAreFollowed) {
  const std::string inner = Wrapper("inner", absl::StrCat("exec '", real_, "' --verbose \"$@\"\n"));
  const std::string outer =
      Wrapper("outer",
              absl::StrCat("# Says where.\nset -eu\nexport NEURON_HOME=/opt/x\nA=\"two words\"\n\n",
                           "  exec ", inner, " \"$@\"\necho never reached\n"));
  const LaunchChain chain = FollowLaunch(outer);
  EXPECT_THAT(chain.files, ElementsAre(outer, inner, real_, python_));
  EXPECT_EQ(chain.script, real_);
}

TEST_F(LaunchChainTest, WhatDecidesSomethingEndsInTheDark) {
  const std::string exec = absl::StrCat("exec ", real_, " \"$@\"\n");
  ASSERT_EQ(ScriptOf(exec), real_);
  for (const std::string& text : {
           absl::StrCat("if true; then\n", exec, "fi\n"),
           absl::StrCat(". /etc/neuron.sh\n", exec),
           absl::StrCat("NAME=`cat /etc/neuron`\n", exec),
           absl::StrCat("NAME=$(cat /etc/neuron)\n", exec),
           absl::StrCat("NAME=value echo\n", exec),
           absl::StrCat("PYTHONPATH=/elsewhere\n", exec),
           absl::StrCat("export PYTHONHOME=/elsewhere\n", exec),
           absl::StrCat("true || ", exec),
           absl::StrCat("exec ", real_, " \"$@\" | tee log\n"),
           absl::StrCat("exec ", real_, " \"$@\" && true\n"),
           absl::StrCat("exec \\\n", real_, "\n"),
           std::string("exec neuronx-cc \"$@\"\n"),
           std::string("exec $HOME/venv/bin/neuronx-cc\n"),
           std::string("exec \"$HERE\"/neuronx-cc\n"),
           std::string("exec /usr/bin/env neuronx-cc\n"),
           absl::StrCat(real_, " \"$@\"\n"),
           absl::StrCat("exec ", directory_ / "absent", " \"$@\"\n"),
           absl::StrCat("exec ", python_, " /some/other/script \"$@\"\n"),
           std::string("echo NeuronX Compiler version 2.27\n"),
           std::string(),
       }) {
    const LaunchChain chain = FollowLaunch(Wrapper("wrapper", text));
    EXPECT_EQ(chain.script, "") << text;
    EXPECT_EQ(chain.python, "") << text;
    EXPECT_EQ(chain.files.front(), directory_ / "wrapper");
  }
}

TEST_F(LaunchChainTest, ProgramsOfOtherKindsEndInTheDark) {
  EXPECT_EQ(FollowLaunch("/bin/sh").script, "");
  EXPECT_EQ(FollowLaunch(directory_ / "absent").script, "");
  EXPECT_EQ(FollowLaunch(directory_.WriteProgram("a", "#!/usr/bin/env python3\n")).script, "");
  EXPECT_EQ(FollowLaunch(directory_.WriteProgram("b", "#!/usr/bin/perl\n")).script, "");
}

TEST_F(LaunchChainTest, OurOwnShimIsNotFollowed) {
  directory_.Write("venv/bin/.neffcache-shim", "");
  EXPECT_EQ(ScriptOf(absl::StrCat("exec ", real_, " \"$@\"\n")), "");
}

TEST_F(LaunchChainTest, ACircleEnds) {
  const std::string self = directory_ / "wrapper";
  EXPECT_EQ(ScriptOf(absl::StrCat("exec ", self, " \"$@\"\n")), "");
}

}  // namespace
}  // namespace neffcache
