#include "graph/flag_table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace neffcache {
namespace {

using enum FlagArity;
using enum FlagRole;

constexpr FlagSpec kFlags[] = {
    // Documented flags with one value.
    {"--auto-cast", kOne, kCode, ""},
    {"--auto-cast-type", kOne, kCode, ""},
    {"--distribution-strategy", kOne, kCode, ""},
    {"--framework", kOne, kCode, ""},
    {"--implicit-integer-downcast", kOne, kCode, ""},
    {"--logical-nc-config", kOne, kCode, ""},
    {"--model-type", kOne, kCode, ""},
    {"--native-int64", kOne, kCode, ""},
    {"--optlevel", kOne, kCode, ""},
    {"--target", kOne, kCode, ""},
    // Switches.
    {"--disable-dge", kNone, kSwitch, "dge"},
    {"--disable-fast-context-switch", kNone, kSwitch, "fast-context-switch"},
    {"--disable-fast-loading-neuron-binaries", kNone, kSwitch, "fast-loading-neuron-binaries"},
    {"--disable-mixed-precision-accumulation", kNone, kSwitch, "mixed-precision-accumulation"},
    {"--disable-saturate-infinity", kNone, kSwitch, "saturate-infinity"},
    {"--enable-dge", kNone, kSwitch, "dge"},
    {"--enable-fast-context-switch", kNone, kSwitch, "fast-context-switch"},
    {"--enable-fast-loading-neuron-binaries", kNone, kSwitch, "fast-loading-neuron-binaries"},
    {"--enable-mixed-precision-accumulation", kNone, kSwitch, "mixed-precision-accumulation"},
    {"--enable-saturate-infinity", kNone, kSwitch, "saturate-infinity"},
    // No effect on the code.
    {"--cache_dir", kOne, kNoEffect, ""},
    {"--log_level", kOne, kNoEffect, ""},
    {"--logfile", kOne, kNoEffect, ""},
    {"--logfile-verbose", kOptionalLevel, kNoEffect, ""},
    {"--no-cache", kNone, kNoEffect, ""},
    {"--no_cache", kNone, kNoEffect, ""},
    {"--output", kOne, kNoEffect, ""},
    {"--retry_failed_compilation", kNone, kNoEffect, ""},
    {"--verbose", kOptionalLevel, kNoEffect, ""},
    // More than one output.
    {"--enable-internal-neff-wrapper", kNone, kExtraOutputs, ""},
    {"--pipeline", kWords, kExtraOutputs, ""},
};

struct Alias {
  absl::string_view spelling;
  absl::string_view name;
};

constexpr Alias kAliases[] = {
    {"--lnc", "--logical-nc-config"},
    {"-lnc", "--logical-nc-config"},
    {"-O", "--optlevel"},
    {"-o", "--output"},
};

const FlagSpec* Find(absl::string_view spelling) {
  for (const Alias& alias : kAliases) {
    if (alias.spelling == spelling) spelling = alias.name;
  }
  for (const FlagSpec& spec : kFlags) {
    if (spec.name == spelling) return &spec;
  }
  return nullptr;
}

}  // namespace

bool IsFlag(absl::string_view token) {
  return token.size() > 1 && token[0] == '-' && !absl::ascii_isdigit(token[1]);
}

FlagMatch MatchFlag(absl::string_view token) {
  if (!IsFlag(token)) return {};
  if (const FlagSpec* spec = Find(token)) return {spec, absl::nullopt};
  const size_t equals = token.find('=');
  if (equals != absl::string_view::npos) {
    if (const FlagSpec* spec = Find(token.substr(0, equals))) {
      return {spec, token.substr(equals + 1)};
    }
  }
  // A level may touch its letter; other letters are left alone, since "-output" is not "-o utput".
  if (token.size() == 3 && absl::StartsWith(token, "-O") && absl::ascii_isdigit(token[2])) {
    return {Find("-O"), token.substr(2)};
  }
  return {};
}

absl::string_view PossibleAbbreviationOf(absl::string_view token) {
  const absl::string_view name = token.substr(0, token.find('='));
  if (name.size() < 3 || !absl::StartsWith(name, "--") || Find(name) != nullptr) return "";
  for (const FlagSpec& spec : kFlags) {
    if (absl::StartsWith(spec.name, name)) return spec.name;
  }
  return "";
}

bool IsVerbosityLevel(absl::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), absl::ascii_isdigit)) return true;
  for (absl::string_view level : {"debug", "info", "warning", "error", "critical", "user"}) {
    if (absl::EqualsIgnoreCase(word, level)) return true;
  }
  return false;
}

bool IsNeuronToolchain(absl::string_view toolchain_name) {
  return toolchain_name == "neuronx-cc" || toolchain_name == "neuron-parallel-compile";
}

}  // namespace neffcache
