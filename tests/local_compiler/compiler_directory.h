#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/io/temporary_directory.h"

namespace neffcache {

// Compilers laid out as pip and people do, in a directory of one test.
class CompilerDirectory : public TemporaryDirectory {
 public:
  std::string Write(const std::string& name, absl::string_view content) const {
    const std::filesystem::path path = *this / name;
    std::filesystem::create_directories(path.parent_path());
    // Another file in its place, as installers do it: never into one that runs.
    const std::string replacement = path.string() + ".new";
    std::ofstream(replacement, std::ios::binary) << content;
    std::filesystem::rename(replacement, path);
    return path.string();
  }

  std::string WriteProgram(const std::string& name, absl::string_view content) const {
    const std::string path = Write(name, content);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  void Link(const std::string& target, const std::string& name) const {
    const std::filesystem::path link = *this / name;
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::remove(link);
    std::filesystem::create_symlink(target, link);
  }

  // The metadata of a distribution in the environment DIR.
  std::string WriteMetadata(const std::string& environment, const std::string& distribution,
                            const std::string& version,
                            const std::string& python = "python3.11") const {
    return Write(absl::StrCat(environment, "/lib/", python, "/site-packages/", distribution, "-",
                              version, ".dist-info/METADATA"),
                 absl::StrCat("Metadata-Version: 2.1\nName: x\nVersion: ", version,
                              "\r\n\nVersion: not this one\n"));
  }

  // A virtual environment with neuronx-cc in it; the path of its script. What it calls a Python is
  // a shell, which starts faster and runs `commands`.
  std::string InstallNeuronxCc(const std::string& environment, const std::string& version,
                               absl::string_view commands = "") const {
    Link("/bin/sh", environment + "/bin/python3");
    std::filesystem::create_directories(*this /
                                        (environment + "/lib/python3.11/site-packages/neuronxcc"));
    WriteMetadata(environment, "neuronx_cc", version);
    return WriteScript(environment, commands);
  }

  std::string WriteScript(const std::string& environment, absl::string_view commands) const {
    return WriteProgram(
        environment + "/bin/neuronx-cc",
        absl::StrCat("#!", *this / environment, "/bin/python3 -u\n",
                     "# from neuronxcc.driver.CommandDriver import main\n", commands));
  }
};

}  // namespace neffcache
