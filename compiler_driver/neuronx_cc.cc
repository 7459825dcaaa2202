#include "compiler_driver/neuronx_cc.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "compiler_driver/neff.h"
#include "compiler_driver/version_probe.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kLogFile = "log-neuron-cc.txt";

// The path with every link resolved; empty when there is nothing.
std::string RealPath(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? "" : real.string();
}

bool HasMarker(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / std::string(kShimMarker), error);
}

bool IsShim(const fs::path& candidate, const std::string& own_shim) {
  const std::string real = RealPath(candidate);
  return HasMarker(candidate.parent_path()) || HasMarker(fs::path(real).parent_path()) ||
         (!own_shim.empty() && real == own_shim);
}

// What pip replaces when it installs another compiler: the console script, and the directories
// neuronxcc/ and neuronx_cc-<version>.dist-info/ of the environment that the script is in.
std::vector<std::string> InstalledFiles(const std::string& binary) {
  const std::string real = RealPath(binary);
  if (real.empty()) return {};
  std::vector<std::string> files = {binary, real};
  for (const std::string& program : {binary, real}) {
    const std::vector<std::string> packages = PythonPackages(program, "neuronx");
    files.insert(files.end(), packages.begin(), packages.end());
  }
  return files;
}

bool HasFlag(absl::Span<const std::string> options, absl::string_view flag) {
  for (absl::string_view option : options) {
    if (absl::ConsumePrefix(&option, flag) && (option.empty() || option.front() == '=')) {
      return true;
    }
  }
  return false;
}

class NeuronxCc final : public CompilerToolchain {
 public:
  NeuronxCc(std::string binary, std::vector<std::string> environment)
      : binary_(std::move(binary)), environment_(std::move(environment)) {}

  absl::string_view name() const override { return kNeuronxCcName; }

  absl::StatusOr<std::string> Probe(const std::string& directory,
                                    const std::stop_token& stop) const override {
    ASSIGN_OR_RETURN(const std::string text, AskVersion(binary_, environment_, directory, stop));
    absl::StatusOr<std::string> version = ParseNeuronxCcVersion(text);
    if (!version.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("asking ", binary_, " for its version: ", version.status().message()));
    }
    return version;
  }

  std::string InstallationStamp() const override {
    const std::vector<std::string> files = InstalledFiles(binary_);
    return files.empty() ? "" : StampOf(files);
  }

  std::string graph_file_name() const override { return "graph.hlo_module.pb"; }
  std::string output_file_name() const override { return "graph.neff"; }

  CompilerCommand CommandFor(absl::Span<const std::string> options) const override {
    CompilerCommand command;
    command.argv = {binary_, "compile"};
    if (!HasFlag(options, "--framework")) command.argv.push_back("--framework=XLA");
    command.argv.insert(command.argv.end(), {graph_file_name(), "--output", output_file_name()});
    command.argv.insert(command.argv.end(), options.begin(), options.end());
    command.argv.insert(command.argv.end(), {"--verbose=35", "--logfile", std::string(kLogFile)});
    command.log_files.emplace_back(kLogFile);
    return command;
  }

  absl::Status CheckOutput(const std::string& path,
                           absl::Span<const std::string> options) const override {
    ASSIGN_OR_RETURN(const NeffHeader header, CheckNeffFile(path));
    for (absl::string_view option : options) {
      uint32_t asked;
      if (absl::ConsumePrefix(&option, "--logical-nc-config=") &&
          absl::SimpleAtoi(option, &asked) && header.lnc_size != 0 && header.lnc_size != asked) {
        return absl::DataLossError(absl::StrCat(path, " is a NEFF for logical core size ",
                                                header.lnc_size, ", asked for was ", asked));
      }
    }
    return absl::OkStatus();
  }

  CompileFailure Classify(const FailureEvidence& evidence) const override {
    return ClassifyFailure(evidence);
  }

 private:
  const std::string binary_;
  const std::vector<std::string> environment_;
};

}  // namespace

absl::StatusOr<std::string> FindNeuronxCc(absl::string_view path,
                                          const std::string& program_directory) {
  const std::string own_shim =
      RealPath(fs::path(program_directory) / ".." / "shim" / std::string(kNeuronxCcName));
  for (absl::string_view directory : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    const fs::path candidate = fs::path(std::string(directory)) / std::string(kNeuronxCcName);
    // A relative entry means another program in every directory, and we work in many.
    if (!candidate.is_absolute() || !IsExecutableFile(candidate.string())) continue;
    if (!IsShim(candidate, own_shim)) return candidate.string();
  }
  return absl::NotFoundError(
      "no neuronx-cc on PATH besides our own shim; install neuronx-cc or name it with "
      "--neuronx-cc");
}

absl::StatusOr<std::string> ParseNeuronxCcVersion(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, absl::ByAnyChar("\r\n"))) {
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "NeuronX Compiler version ")) continue;
    line = absl::StripAsciiWhitespace(line);
    const bool is_version =
        !line.empty() && line.size() <= 128 && absl::ascii_isdigit(line.front()) &&
        line.find_first_not_of(
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-_") ==
            absl::string_view::npos;
    if (is_version) return std::string(line);
  }
  return absl::InvalidArgumentError("it printed no line \"NeuronX Compiler version ...\"");
}

absl::StatusOr<std::unique_ptr<CompilerToolchain>> MakeNeuronxCc(
    const ToolchainSettings& settings) {
  std::string binary = settings.neuronx_cc;
  if (binary.empty()) {
    ASSIGN_OR_RETURN(binary, FindNeuronxCc(settings.path, settings.program_directory));
  } else {
    if (!IsExecutableFile(binary)) {
      return absl::NotFoundError(
          absl::StrCat("neuronx-cc at ", binary, ": not an executable file"));
    }
    // Compilers run in directories of their own.
    std::error_code error;
    binary = fs::absolute(binary, error).string();
  }
  return std::make_unique<NeuronxCc>(std::move(binary), settings.environment);
}

}  // namespace neffcache
