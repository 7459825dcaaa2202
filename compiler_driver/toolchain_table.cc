#include "compiler_driver/toolchain_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler_driver/neuronx_cc.h"
#include "compiler_driver/xla_cpu.h"
#include "local_compiler/program_search.h"

namespace neffcache {
namespace {

using Factory =
    absl::StatusOr<std::unique_ptr<CompilerToolchain>> (*)(const ToolchainSettings& settings);

struct Row {
  absl::string_view name;
  Factory make;
};

constexpr Row kToolchains[] = {
    {kNeuronxCcName, MakeNeuronxCc},
    {kXlaCpuName, MakeXlaCpu},
};

}  // namespace

std::vector<std::string> ToolchainNames() {
  std::vector<std::string> names;
  for (const Row& row : kToolchains) names.emplace_back(row.name);
  return names;
}

absl::StatusOr<std::unique_ptr<CompilerToolchain>> MakeToolchain(
    absl::string_view name, const ToolchainSettings& settings) {
  for (const Row& row : kToolchains) {
    if (row.name == name) return row.make(settings);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown toolchain \"", name, "\"; known are ",
                                                 absl::StrJoin(ToolchainNames(), ", ")));
}

}  // namespace neffcache
