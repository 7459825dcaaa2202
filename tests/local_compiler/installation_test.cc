#include "local_compiler/installation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/local_compiler/compiler_directory.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

class InstallationTest : public ::testing::Test {
 protected:
  // As pip does it: other metadata, and a new script.
  void Upgrade(const std::string& environment, const std::string& from, const std::string& to) {
    fs::remove_all(directory_ / absl::StrCat(environment,
                                             "/lib/python3.11/site-packages/neuronx_cc-", from,
                                             ".dist-info"));
    directory_.InstallNeuronxCc(environment, to);
  }

  const CompilerDirectory directory_{};
};

TEST_F(InstallationTest, TheEnvironmentsPackageSaysTheVersion) {
  const std::string program = directory_.InstallNeuronxCc("venv", "2.27.5334.0+2d4f85be");
  const Installation installation = InspectNeuronxCc(program);
  EXPECT_EQ(installation.version, "2.27.5334.0+2d4f85be");
  EXPECT_NE(installation.stamp, "");
  EXPECT_EQ(InspectNeuronxCc(program).stamp, installation.stamp);
}

TEST_F(InstallationTest, SeveralPackagesHaveAStampButNoVersion) {
  const std::string program = directory_.InstallNeuronxCc("venv", "2.27.1.0");
  directory_.WriteMetadata("venv", "neuronx_cc", "2.26.1.0", "python3.10");
  EXPECT_EQ(InspectNeuronxCc(program).version, "");
  EXPECT_NE(InspectNeuronxCc(program).stamp, "");
}

TEST_F(InstallationTest, AnotherDistributionOfTheSamePrefixIsNotTheCompiler) {
  const std::string program = directory_.InstallNeuronxCc("venv", "2.27.1.0");
  directory_.WriteMetadata("venv", "neuronx_cc_stubs", "1.0");
  EXPECT_EQ(InspectNeuronxCc(program).version, "2.27.1.0");
}

TEST_F(InstallationTest, AnUpgradeChangesTheStamp) {
  const std::string program = directory_.InstallNeuronxCc("venv", "2.26.1.0");
  const Installation before = InspectNeuronxCc(program);
  Upgrade("venv", "2.26.1.0", "2.27.1.0");
  const Installation after = InspectNeuronxCc(program);
  EXPECT_NE(after.stamp, before.stamp);
  EXPECT_EQ(after.version, "2.27.1.0");
}

TEST_F(InstallationTest, TheSameVersionInstalledAgainChangesTheStamp) {
  const std::string program = directory_.InstallNeuronxCc("venv", "2.26.1.0");
  const std::string before = InspectNeuronxCc(program).stamp;
  directory_.WriteMetadata("venv", "neuronx_cc", "2.26.1.0");
  EXPECT_NE(InspectNeuronxCc(program).stamp, before);
}

TEST_F(InstallationTest, AWrapperIsWhatItStarts) {
  const std::string real = directory_.InstallNeuronxCc("opt/x", "2.26.1.0");
  // The environment that the wrapper is in has another compiler, which it does not start.
  directory_.InstallNeuronxCc("venv", "1.1.1.1");
  const std::string wrapper = directory_.WriteProgram(
      "venv/bin/neuronx-cc", absl::StrCat("#!/bin/sh\nexec ", real, " \"$@\"\n"));
  const Installation before = InspectNeuronxCc(wrapper);
  EXPECT_EQ(before.version, "2.26.1.0");
  Upgrade("opt/x", "2.26.1.0", "2.27.1.0");
  EXPECT_EQ(InspectNeuronxCc(wrapper).version, "2.27.1.0");
  EXPECT_NE(InspectNeuronxCc(wrapper).stamp, before.stamp);
}

TEST_F(InstallationTest, ALinkThatIsTurnedToAnotherEnvironmentIsSeenThroughAWrapper) {
  directory_.InstallNeuronxCc("old", "2.26.1.0");
  directory_.InstallNeuronxCc("new", "2.27.1.0");
  directory_.Link(directory_ / "old", "current");
  const std::string wrapper = directory_.WriteProgram(
      "neuronx-cc",
      absl::StrCat("#!/bin/bash\nexec \"", directory_ / "current/bin/neuronx-cc", "\" \"$@\"\n"));
  const Installation before = InspectNeuronxCc(wrapper);
  EXPECT_EQ(before.version, "2.26.1.0");
  directory_.Link(directory_ / "new", "current");
  const Installation after = InspectNeuronxCc(wrapper);
  EXPECT_EQ(after.version, "2.27.1.0");
  EXPECT_NE(after.stamp, before.stamp);
}

TEST_F(InstallationTest, AWrapperThatCannotBeFollowedIsUnsureWhateverPackageIsBesideIt) {
  directory_.InstallNeuronxCc("venv", "2.26.1.0");
  const std::string wrapper = directory_.WriteProgram(
      "venv/bin/neuronx-cc", "#!/bin/sh\n. /etc/neuron.sh\nexec $NEURON/bin/neuronx-cc \"$@\"\n");
  EXPECT_EQ(InspectNeuronxCc(wrapper).stamp, "");
  EXPECT_EQ(InspectNeuronxCc(wrapper).version, "");
}

TEST_F(InstallationTest, APythonScriptOfSomethingElseIsUnsure) {
  directory_.InstallNeuronxCc("venv", "2.26.1.0");
  const std::string launcher = directory_.WriteProgram(
      "venv/bin/neuronx-cc", absl::StrCat("#!", directory_ / "venv/bin/python3\n",
                                          "import os, sys\nos.execv('/opt/x', sys.argv)\n"));
  EXPECT_EQ(InspectNeuronxCc(launcher).stamp, "");
}

TEST_F(InstallationTest, AScriptWithoutItsPackageIsUnsure) {
  directory_.InstallNeuronxCc("venv", "2.26.1.0");
  fs::remove_all(directory_ / "venv/lib");
  EXPECT_EQ(InspectNeuronxCc(directory_ / "venv/bin/neuronx-cc").stamp, "");
}

TEST_F(InstallationTest, APackageOfASystemsPythonIsFoundBesideItsScript) {
  // Debian's pip: /usr/local/bin/neuronx-cc of /usr/bin/python3.
  directory_.Link("/bin/sh", "usr/bin/python3");
  directory_.WriteMetadata("usr/local", "neuronx_cc", "2.26.1.0");
  const std::string program = directory_.WriteProgram(
      "usr/local/bin/neuronx-cc",
      absl::StrCat("#!", directory_ / "usr/bin/python3", "\nfrom neuronxcc import main\n"));
  EXPECT_EQ(InspectNeuronxCc(program).version, "2.26.1.0");
}

TEST_F(InstallationTest, AnEnvironmentReachedByLinksCountsOnce) {
  directory_.InstallNeuronxCc("venv", "2.26.1.0");
  directory_.Link("lib", "venv/lib64");
  directory_.Link("python3.11", "venv/lib/python3");
  directory_.Link(directory_ / "venv/bin/neuronx-cc", "bin/neuronx-cc");
  EXPECT_EQ(InspectNeuronxCc(directory_ / "bin/neuronx-cc").version, "2.26.1.0");
}

TEST_F(InstallationTest, APackageIsThatOfThePythonsOwnEnvironment) {
  directory_.Link("/bin/sh", "venv/bin/python");
  const std::string python = directory_ / "venv/bin/python";
  const std::string launcher = directory_.WriteProgram("launcher", "");
  const std::string files[] = {launcher};
  EXPECT_EQ(InspectPackage(python, "jaxlib", "jax", files).stamp, "");
  directory_.WriteMetadata("venv", "jaxlib", "0.4.30");
  const Installation before = InspectPackage(python, "jaxlib", "jax", files);
  EXPECT_EQ(before.version, "0.4.30");
  directory_.WriteMetadata("venv", "jax", "0.4.31");
  const std::string with_jax = InspectPackage(python, "jaxlib", "jax", files).stamp;
  EXPECT_NE(with_jax, before.stamp);
  directory_.WriteProgram("launcher", "changed");
  EXPECT_NE(InspectPackage(python, "jaxlib", "jax", files).stamp, with_jax);
}

}  // namespace
}  // namespace neffcache
