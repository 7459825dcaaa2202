#include "graph/options.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/flag_table.h"

namespace neffcache {
namespace {

bool HasBlank(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), absl::ascii_isspace);
}

// Values that are two spellings of one thing.
std::string CanonicalValue(absl::string_view flag, absl::string_view value) {
  if (flag == "--distribution-strategy" && absl::EqualsIgnoreCase(value, "nemo")) {
    return "llm-training";
  }
  return std::string(value);
}

// The file that a token names: the token itself, its value, or a word of a nested option list.
std::string NamedFile(absl::string_view token, const FileExists& file_exists) {
  if (file_exists(std::string(token))) return std::string(token);
  for (absl::string_view part : absl::StrSplit(token, absl::ByAnyChar("=, \t\n;:'\""))) {
    if (!part.empty() && file_exists(std::string(part))) return std::string(part);
  }
  const size_t equals = token.find('=');
  if (equals == absl::string_view::npos) return "";
  const std::string value(token.substr(equals + 1));
  return !value.empty() && file_exists(value) ? value : "";
}

class Normalizer {
 public:
  explicit Normalizer(const FileExists& file_exists) : file_exists_(file_exists) {}

  absl::Status Take(absl::Span<const std::string> flags) {
    for (size_t i = 0; i < flags.size();) {
      const std::string& token = flags[i++];
      const FlagMatch match = MatchFlag(token);
      if (match.spec == nullptr) {
        TakeUnknown(token);
        continue;
      }
      const FlagSpec& spec = *match.spec;
      absl::optional<absl::string_view> value = match.value;
      size_t words = 0;  // How many of the following tokens belong to this flag.
      if (!value.has_value()) {
        while (i + words < flags.size() && !IsFlag(flags[i + words])) ++words;
        if (spec.arity == FlagArity::kNone) words = 0;
        if (spec.arity == FlagArity::kOne) words = std::min<size_t>(words, 1);
        if (spec.arity == FlagArity::kOptionalLevel) {
          words = words > 0 && IsVerbosityLevel(flags[i]) ? 1 : 0;
        }
        if (spec.arity == FlagArity::kOne) {
          if (words == 0) {
            return absl::InvalidArgumentError(absl::StrCat("flag ", token, " needs a value"));
          }
          value = flags[i];
        }
      }
      TakeKnown(spec, token, value, flags.subspan(i, words));
      i += words;
    }
    return absl::OkStatus();
  }

  NormalizedOptions Finish() && {
    if (known_.contains("--optlevel") && old_optlevel_) {
      Refuse("--enable-experimental-O1 competes with --optlevel");
    }
    // The one framework there is. A worker always says it, so it is the same said or not; people
    // who precompile leave it out, trainers do not.
    if (const auto framework = known_.find("--framework");
        framework != known_.end() && framework->second == "--framework=XLA") {
      known_.erase(framework);
    }
    NormalizedOptions result;
    for (auto& [order, argument] : known_) result.arguments.push_back(std::move(argument));
    for (std::string& token : unknown_) result.arguments.push_back(std::move(token));
    result.uncacheable_reason = std::move(reason_);
    return result;
  }

 private:
  // Only the first reason is told.
  void Refuse(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
  }

  void TakeKnown(const FlagSpec& spec, const std::string& token,
                 absl::optional<absl::string_view> value, absl::Span<const std::string> words) {
    word_may_follow_ = false;
    const bool odd = (spec.role == FlagRole::kCode && HasBlank(*value)) ||
                     (spec.role == FlagRole::kSwitch && value.has_value());
    if (odd) {
      Refuse(absl::StrCat("flag ", spec.name, " has a value that is not understood"));
    } else if (spec.role == FlagRole::kNoEffect) {
      return;
    } else if (spec.role == FlagRole::kCode) {
      // None of these takes a file. Only what is written as a path counts: a directory may well
      // be called "transformer".
      if (absl::StrContains(*value, '/')) RefuseFile(token, std::string(*value));
      known_[std::string(spec.name)] =
          absl::StrCat(spec.name, "=", CanonicalValue(spec.name, *value));
      return;
    } else if (spec.role == FlagRole::kSwitch) {
      known_.erase(absl::StartsWith(spec.name, "--enable-") ? OffName(spec) : OnName(spec));
      known_[std::string(spec.name)] = std::string(spec.name);
      return;
    } else if (spec.arity == FlagArity::kWords) {
      if (value.has_value()) CheckPipelineStep(*value);
      for (const std::string& word : words) CheckPipelineStep(word);
    } else {
      Refuse(absl::StrCat(spec.name, " asks for extra outputs"));
    }
    unknown_.push_back(token);
    unknown_.insert(unknown_.end(), words.begin(), words.end());
  }

  static std::string OnName(const FlagSpec& spec) { return absl::StrCat("--enable-", spec.group); }
  static std::string OffName(const FlagSpec& spec) {
    return absl::StrCat("--disable-", spec.group);
  }

  void CheckPipelineStep(absl::string_view word) {
    if (word != "compile") Refuse(absl::StrCat(word, " asks for extra outputs"));
  }

  void TakeUnknown(const std::string& token) {
    if (!IsFlag(token) && !word_may_follow_) {
      Refuse(absl::StrCat("argument '", token, "' belongs to no flag"));
    }
    word_may_follow_ = IsFlag(token) && !absl::StrContains(token, '=');
    if (token == "--") Refuse("-- makes inputs of the words behind it");
    const std::string lower = absl::AsciiStrToLower(token);
    if (absl::StrContains(lower, "dump") || absl::StrContains(lower, "savetemps") ||
        absl::StrContains(lower, "save-temps")) {
      Refuse(absl::StrCat(token, " asks for extra outputs"));
    }
    // Shortened flags would be sorted away from the flag that they compete with.
    if (const absl::string_view full = PossibleAbbreviationOf(token); !full.empty()) {
      Refuse(absl::StrCat(token, " may be short for ", full));
    }
    old_optlevel_ |= absl::StartsWith(token, "--enable-experimental-O");
    RefuseFile(token, token);
    unknown_.push_back(token);
  }

  // The content of a file that is named anywhere in `text` is not in the key.
  void RefuseFile(const std::string& token, const std::string& text) {
    if (file_exists_ == nullptr) return;
    if (const std::string file = NamedFile(text, file_exists_); !file.empty()) {
      Refuse(absl::StrCat("argument ", token, " names the file ", file,
                          ", which does not travel with the compile"));
    }
  }

  const FileExists& file_exists_;
  std::map<std::string, std::string, std::less<>> known_;  // By name, hence sorted.
  std::vector<std::string> unknown_;
  std::string reason_;
  bool word_may_follow_ = false;  // The token before is an unknown flag that may take a value.
  bool old_optlevel_ = false;
};

// --- What a worker's compiler may be asked for. ---

// Parts of a flag's name that betray a file to write or code to load.
constexpr absl::string_view kRefusedParts[] = {
    "dump",    "savetemps", "save-temps", "save_temps",  "logfile",  "log-file", "log_file",
    "workdir", "work-dir",  "plugin",     "plug-in",     "preload",  "library",  "-load-",
    "-load_",  "command",   "script",     "config-file", "--output", "--exec=",
};

absl::Status Refused(absl::string_view toolchain, absl::string_view argument,
                     absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("argument ", argument, " is refused for ", toolchain, ": ", why));
}

// A path that leads out of the directory the compiler runs in, anywhere in the token.
bool HoldsForeignPath(absl::string_view token) {
  if (absl::StrContains(token, "..") || absl::StrContains(token, "://")) return true;
  char before = ' ';
  for (char c : token) {
    const bool starts_word = absl::ascii_isspace(before) || absl::StrContains("=,:;'\"([{", before);
    if (starts_word && (c == '/' || c == '~')) return true;
    before = c;
  }
  return false;
}

// Names of the flags in a token, its nested options included: "--tensorizer-options=--a=1 --b".
bool NamesRefusedPart(absl::string_view token, absl::string_view* part) {
  for (absl::string_view word : absl::StrSplit(token, absl::ByAnyChar(" \t\n=,'\""))) {
    if (!absl::StartsWith(word, "-")) continue;
    const std::string lower = absl::AsciiStrToLower(word);
    for (absl::string_view refused : kRefusedParts) {
      if (absl::StrContains(lower, refused)) {
        *part = refused;
        return true;
      }
    }
  }
  return false;
}

absl::Status CheckGeneral(absl::string_view toolchain, absl::string_view argument) {
  if (argument.empty()) return Refused(toolchain, "''", "it is empty");
  for (char c : argument) {
    if (absl::ascii_iscntrl(c) && !absl::ascii_isspace(c)) {
      return Refused(toolchain, "(binary)", "it holds a control character");
    }
  }
  if (argument[0] == '@') return Refused(toolchain, argument, "response files are not read");
  absl::string_view part;
  if (argument == "-o" || absl::StartsWith(argument, "-o=") || NamesRefusedPart(argument, &part)) {
    return Refused(toolchain, argument, "it may write files or load code");
  }
  if (HoldsForeignPath(argument)) {
    return Refused(toolchain, argument, "it holds a path, which means nothing on a worker");
  }
  return absl::OkStatus();
}

absl::Status CheckXlaCpu(absl::string_view toolchain, absl::string_view argument) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(argument, absl::MaxSplits('=', 1));
  const auto& [name, value] = parts;
  const bool is_number = !value.empty() && value.size() <= 9 &&
                         std::all_of(value.begin(), value.end(), absl::ascii_isdigit);
  if ((name == "--num-replicas" || name == "--num-partitions") && is_number) {
    return absl::OkStatus();
  }
  return Refused(toolchain, argument, "only --num-replicas=N and --num-partitions=N are known");
}

// A word that no flag takes would reach the compiler as another input.
absl::Status CheckWords(absl::string_view toolchain, absl::Span<const std::string> arguments) {
  bool word_may_follow = false;
  for (const std::string& argument : arguments) {
    if (IsFlag(argument)) {
      const FlagMatch match = MatchFlag(argument);
      word_may_follow = match.spec == nullptr
                            ? !absl::StrContains(argument, '=')
                            : match.spec->arity != FlagArity::kNone && !match.value.has_value();
      continue;
    }
    if (!word_may_follow) return Refused(toolchain, argument, "it belongs to no flag");
    if (argument == "SaveTemps") return Refused(toolchain, argument, "it writes extra files");
    word_may_follow = false;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NormalizedOptions> NormalizeOptions(absl::string_view toolchain_name,
                                                   absl::Span<const std::string> flags,
                                                   const FileExists& file_exists) {
  if (IsNeuronToolchain(toolchain_name)) {
    Normalizer normalizer(file_exists);
    if (absl::Status status = normalizer.Take(flags); !status.ok()) return status;
    return std::move(normalizer).Finish();
  }
  NormalizedOptions result{{flags.begin(), flags.end()}, ""};
  for (const std::string& token : flags) {
    if (file_exists == nullptr || !result.cacheable()) break;
    if (const std::string file = NamedFile(token, file_exists); !file.empty()) {
      result.uncacheable_reason = absl::StrCat("argument ", token, " names the file ", file,
                                               ", which does not travel with the compile");
    }
  }
  return result;
}

absl::Status CheckAllowedOptions(absl::string_view toolchain_name,
                                 absl::Span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    absl::Status status = toolchain_name == "xla-cpu" ? CheckXlaCpu(toolchain_name, argument)
                                                      : CheckGeneral(toolchain_name, argument);
    if (!status.ok()) return status;
  }
  if (IsNeuronToolchain(toolchain_name)) return CheckWords(toolchain_name, arguments);
  return absl::OkStatus();
}

}  // namespace neffcache
