#include "compiler_driver/neuronx_cc.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "compiler_driver/neff.h"
#include "compiler_driver/version_probe.h"
#include "io/status_macros.h"
#include "local_compiler/installation.h"
#include "local_compiler/program_search.h"
#include "local_compiler/version_text.h"

namespace neffcache {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kLogFile = "log-neuron-cc.txt";

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
    std::string version = ParseNeuronxCcVersion(text);
    if (!version.empty()) return version;
    return absl::InvalidArgumentError(
        absl::StrCat("asking ", binary_,
                     " for its version: it printed no line \"NeuronX Compiler version ...\""));
  }

  std::string InstallationStamp() const override { return InspectNeuronxCc(binary_).stamp; }

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

absl::StatusOr<std::unique_ptr<CompilerToolchain>> MakeNeuronxCc(
    const ToolchainSettings& settings) {
  std::string binary = settings.neuronx_cc;
  if (binary.empty()) {
    absl::StatusOr<std::string> found = FindProgram(
        kNeuronxCcName,
        {.path = settings.path, .own_shim = ShimOfInstallation(settings.program_directory)});
    if (!found.ok()) {
      return absl::NotFoundError(absl::StrCat(found.status().message(),
                                              "; install neuronx-cc or name it with --neuronx-cc"));
    }
    binary = *std::move(found);
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
