#include "compiler_driver/xla_cpu.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "compiler_driver/version_probe.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "io/utf8.h"
#include "local_compiler/installation.h"
#include "local_compiler/program_search.h"
#include "local_compiler/version_text.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLauncherLimit = 64 << 10;
constexpr absl::string_view kPythonVariable = "NEFFCACHE_XLA_CPU_PYTHON";

constexpr int kBadGraphExit = 1;
constexpr int kUsageExit = 2;
constexpr int kEnvironmentExit = 3;

// The last line of the program's own diagnostic; empty when it made none.
absl::string_view FindErrorLine(absl::string_view log) {
  absl::string_view found;
  for (absl::string_view line : absl::StrSplit(log, absl::ByAnyChar("\r\n"))) {
    if (absl::StartsWith(line, "error:")) found = line;
  }
  return found;
}

std::string ValueOf(absl::string_view name, const std::vector<std::string>& environment) {
  for (absl::string_view variable : environment) {
    if (absl::ConsumePrefix(&variable, name) && absl::ConsumePrefix(&variable, "=")) {
      return std::string(variable);
    }
  }
  return "";
}

// The Python that our launcher starts: `override`, or what its text gives the variable as default.
// Empty when it is no launcher of ours.
std::string PythonOf(absl::string_view launcher, const std::string& override) {
  const std::string expansion = absl::StrCat("python=${", kPythonVariable, ":-");
  const size_t begin = launcher.find(expansion);
  if (begin == absl::string_view::npos) return "";
  if (!override.empty()) return override;
  launcher.remove_prefix(begin + expansion.size());
  const size_t end = launcher.find("}\n");
  return end == absl::string_view::npos ? "" : std::string(launcher.substr(0, end));
}

class XlaCpu final : public CompilerToolchain {
 public:
  XlaCpu(std::string program, std::vector<std::string> environment)
      : program_(std::move(program)),
        environment_(std::move(environment)),
        python_override_(ValueOf(kPythonVariable, environment_)) {}

  absl::string_view name() const override { return kXlaCpuName; }

  absl::StatusOr<std::string> Probe(const std::string& directory,
                                    const std::stop_token& stop) const override {
    ASSIGN_OR_RETURN(const std::string text, AskVersion(program_, environment_, directory, stop));
    const std::string version = ParseXlaCpuVersion(text);
    if (!version.empty()) return ToUtf8(version);
    return absl::InvalidArgumentError(
        absl::StrCat("asking ", program_, " for its version: it printed no line \"xla-cpu ...\""));
  }

  std::string InstallationStamp() const override {
    std::error_code error;
    const fs::path real = fs::canonical(program_, error);
    const absl::StatusOr<std::string> launcher = ReadWholeFile(program_, kLauncherLimit);
    if (error || !launcher.ok()) return "";
    const std::string files[] = {program_, real.string(),
                                 (real.parent_path() / "xla_cpu_compile.py").string()};
    const std::string python = PythonOf(*launcher, python_override_);
    return InspectPackage(python, "jaxlib", "jax", files).stamp;
  }

  std::string graph_file_name() const override { return "graph.hlo_module.pb"; }
  std::string output_file_name() const override { return "graph.xla"; }

  CompilerCommand CommandFor(absl::Span<const std::string> options) const override {
    CompilerCommand command;
    command.argv = {program_};
    command.argv.insert(command.argv.end(), options.begin(), options.end());
    command.argv.insert(command.argv.end(), {graph_file_name(), "--output", output_file_name()});
    return command;
  }

  // The serialized executable states no size; the program renames it into place when it is whole.
  absl::Status CheckOutput(const std::string&, absl::Span<const std::string>) const override {
    return absl::OkStatus();
  }

  CompileFailure Classify(const FailureEvidence& evidence) const override {
    CompileFailure failure = ClassifyFailure(evidence);
    const ChildResult& child = evidence.child;
    // Memory and environment are told by signs in the log whatever the exit code is.
    const bool told = failure.failure_class == CompileFailureClass::kMemory ||
                      failure.failure_class == CompileFailureClass::kTransient;
    if (child.end != ChildEnd::kExited || told) return failure;
    const absl::string_view line = FindErrorLine(child.log);
    if (child.exit_code == kEnvironmentExit) {
      failure.failure_class = CompileFailureClass::kTransient;
    } else if (child.exit_code == kUsageExit ||
               (child.exit_code == kBadGraphExit && !line.empty())) {
      failure.failure_class = CompileFailureClass::kDeterministic;
    } else {
      return failure;
    }
    failure.message = absl::StrCat(evidence.program, " exited with ", child.exit_code);
    if (!line.empty()) absl::StrAppend(&failure.message, ": ", ToUtf8(line.substr(0, 400)));
    return failure;
  }

 private:
  const std::string program_;
  const std::vector<std::string> environment_;
  const std::string python_override_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CompilerToolchain>> MakeXlaCpu(const ToolchainSettings& settings) {
  fs::path program = settings.xla_cpu;
  if (program.empty()) {
    program =
        fs::path(settings.program_directory) / ".." / "libexec" / "neffcache" / "xla-cpu-compile";
  }
  std::error_code error;
  program = fs::absolute(program, error).lexically_normal();
  if (!IsExecutableFile(program.string())) {
    return absl::NotFoundError(
        absl::StrCat("xla-cpu-compile at ", program.string(), ": not an executable file"));
  }
  return std::make_unique<XlaCpu>(program.string(), settings.environment);
}

}  // namespace neffcache
