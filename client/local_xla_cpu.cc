#include "client/local_xla_cpu.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/program_output.h"
#include "io/status_macros.h"
#include "local_compiler/program_search.h"
#include "local_compiler/version_text.h"

namespace neffcache {
namespace {

constexpr char kProgram[] = "xla-cpu-compile";

absl::StatusOr<std::string> FindXlaCpuCompile(const std::string& self) {
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::canonical(self, error).parent_path();
  if (error)
    return absl::NotFoundError("finding xla-cpu-compile: where this program is is unknown");
  const std::string installed = directory.parent_path() / "libexec" / "neffcache" / kProgram;
  for (const std::string& candidate : {installed, (directory / kProgram).string()}) {
    if (IsExecutableFile(candidate)) return candidate;
  }
  return absl::NotFoundError(
      absl::StrCat("finding xla-cpu-compile: there is no executable file ", installed));
}

}  // namespace

absl::StatusOr<LocalToolchain> FindLocalXlaCpu(const LocalToolchainSearch& search) {
  ASSIGN_OR_RETURN(std::string program, FindXlaCpuCompile(search.self));
  ASSIGN_OR_RETURN(const std::string output,
                   ProgramOutput({program, "--version"}, {}, search.ask_timeout));
  std::string version = ParseXlaCpuVersion(output);
  if (version.empty()) {
    return absl::UnavailableError(
        absl::StrCat("asking ", program,
                     " for its version: its answer has no line \"xla-cpu …\"; run it to see why"));
  }
  return LocalToolchain{std::move(program), Toolchain{kXlaCpuToolchainName, std::move(version)}};
}

}  // namespace neffcache
