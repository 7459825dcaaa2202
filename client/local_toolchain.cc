#include "client/local_toolchain.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/program_output.h"
#include "client/version_memory.h"
#include "io/status_macros.h"
#include "local_compiler/installation.h"
#include "local_compiler/program_search.h"
#include "local_compiler/version_text.h"

namespace neffcache {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

LocalToolchainSearch LocalToolchainSearch::FromEnvironment() {
  LocalToolchainSearch search;
  search.real_compiler = Environment("NEFFCACHE_REAL_CC");
  search.path = Environment("PATH");
  search.self = "/proc/self/exe";
  std::string directory = Environment("NEFFCACHE_DIR");
  search.memory_directories.push_back(directory.empty() ? "/var/tmp/neffcache" : directory);
  const std::string cache_home = Environment("XDG_CACHE_HOME");
  if (!cache_home.empty()) search.memory_directories.push_back(cache_home + "/neffcache");
  return search;
}

absl::StatusOr<std::string> FindLocalCompiler(const LocalToolchainSearch& search) {
  const std::string& wanted = search.real_compiler;
  if (absl::StrContains(wanted, '/')) {
    if (!IsExecutableFile(wanted)) {
      return absl::NotFoundError(absl::StrCat("finding the compiler: NEFFCACHE_REAL_CC names ",
                                              wanted, ", which is not an executable file"));
    }
    if (IsOurShim(wanted, search.self)) {
      return absl::InvalidArgumentError(
          absl::StrCat("finding the compiler: NEFFCACHE_REAL_CC names ", wanted,
                       ", which is neffcache's shim itself"));
    }
    return wanted;
  }
  absl::StatusOr<std::string> program = FindProgram(
      wanted.empty() ? kNeuronxCcName : wanted,
      {.path = search.path,
       .relative_entries = RelativeEntries::kFollowed,  // As the shell would, which started us.
       .own_shim = search.self});
  if (program.ok()) return program;
  return absl::NotFoundError(absl::StrCat("finding the compiler: ", program.status().message()));
}

absl::StatusOr<std::string> LocalCompilerVersion(const std::string& program,
                                                 const LocalToolchainSearch& search) {
  const Installation installation = InspectNeuronxCc(program);
  if (!installation.version.empty()) return installation.version;
  const VersionMemory memory(search.memory_directories);
  std::string version = memory.Recall(program, installation.stamp);
  if (!version.empty()) return version;
  // Should the program turn out to be a wrapper that finds our shim, the shim steps aside.
  ASSIGN_OR_RETURN(
      const std::string output,
      ProgramOutput({program, "--version"}, {"NEFFCACHE_DISABLE=1"}, search.ask_timeout));
  version = ParseNeuronxCcVersion(output);
  if (version.empty()) {
    return absl::UnavailableError(absl::StrCat("asking ", program,
                                               " for its version: its answer has no line "
                                               "\"NeuronX Compiler version …\""));
  }
  memory.Remember(program, installation.stamp, version);
  return version;
}

absl::StatusOr<LocalToolchain> FindLocalToolchain(const LocalToolchainSearch& search) {
  ASSIGN_OR_RETURN(std::string program, FindLocalCompiler(search));
  ASSIGN_OR_RETURN(std::string version, LocalCompilerVersion(program, search));
  return LocalToolchain{std::move(program), Toolchain{kLocalToolchainName, std::move(version)}};
}

}  // namespace neffcache
