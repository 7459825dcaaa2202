#include "graph/command_line.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "graph/flag_table.h"

namespace neffcache {
namespace {

bool IsSubcommand(absl::string_view word) {
  return word == "compile" || word == "list-operators";
}

// Suffixes of the graph files that the known callers name.
bool LooksLikeGraphFile(absl::string_view word) {
  for (absl::string_view suffix : {".pb", ".hlo", ".mlir", ".bc", ".pbtxt"}) {
    if (absl::EndsWith(word, suffix)) return true;
  }
  return false;
}

class Parser {
 public:
  explicit Parser(absl::Span<const std::string> arguments) : arguments_(arguments) {}

  CommandLine Parse() {
    while (next_ < arguments_.size()) {
      const std::string& token = arguments_[next_];
      const FlagMatch match = MatchFlag(token);
      if (match.spec != nullptr) {
        TakeKnownFlag(token, match);
      } else if (IsFlag(token)) {
        TakeUnknownFlag(token);
      } else {
        TakeWord(token);
      }
    }
    return std::move(line_);
  }

 private:
  bool WordFollows(size_t index) const {
    return index < arguments_.size() && !IsFlag(arguments_[index]);
  }

  void TakeKnownFlag(const std::string& token, const FlagMatch& match) {
    ++next_;
    const bool is_output = match.spec->name == "--output";
    if (is_output || match.spec->name == "--logfile") {
      std::string& slot = is_output ? line_.output : line_.logfile;
      if (match.value.has_value()) {
        slot = std::string(*match.value);
      } else if (WordFollows(next_)) {
        slot = arguments_[next_++];
      } else {
        line_.flags.push_back(token);  // Dangling: for the compiler to complain about.
      }
      return;
    }
    line_.flags.push_back(token);
    if (match.value.has_value()) return;
    switch (match.spec->arity) {
      case FlagArity::kNone:
        break;
      case FlagArity::kOne:
        if (WordFollows(next_)) line_.flags.push_back(arguments_[next_++]);
        break;
      case FlagArity::kOptionalLevel:
        if (WordFollows(next_) && IsVerbosityLevel(arguments_[next_])) {
          line_.flags.push_back(arguments_[next_++]);
        }
        break;
      case FlagArity::kWords:
        while (WordFollows(next_)) line_.flags.push_back(arguments_[next_++]);
        break;
    }
  }

  // Whether a word after an unknown flag is its value cannot be known. Where this guesses wrong the
  // count of inputs is not one, or the flag's value names a file; neither is cached.
  void TakeUnknownFlag(const std::string& token) {
    ++next_;
    line_.flags.push_back(token);
    if (absl::StrContains(token, '=') || !WordFollows(next_)) return;
    const std::string& word = arguments_[next_];
    const bool is_switch = absl::StartsWith(token, "--enable-") ||
                           absl::StartsWith(token, "--disable-") || absl::StartsWith(token, "--no");
    if (is_switch || (line_.subcommand.empty() && IsSubcommand(word)) ||
        (line_.inputs.empty() && LooksLikeGraphFile(word))) {
      return;  // Taken as a word of its own.
    }
    line_.flags.push_back(word);
    ++next_;
  }

  void TakeWord(const std::string& token) {
    ++next_;
    if (line_.subcommand.empty()) {
      line_.subcommand = token;
    } else {
      line_.inputs.push_back(token);
    }
  }

  const absl::Span<const std::string> arguments_;
  size_t next_ = 0;
  CommandLine line_;
};

// Flags after which nothing is compiled, or after which words mean something else.
bool EndsCompiling(absl::string_view flag) {
  return flag == "--help" || flag == "-h" || flag == "--version" || flag == "--";
}

}  // namespace

bool CommandLine::IsPlainCompile() const {
  return subcommand == "compile" && inputs.size() == 1 && !output.empty() && !inputs[0].empty() &&
         inputs[0] != "-" && inputs[0][0] != '@' &&
         std::none_of(flags.begin(), flags.end(), EndsCompiling);
}

CommandLine ParseCommandLine(absl::Span<const std::string> arguments) {
  return Parser(arguments).Parse();
}

}  // namespace neffcache
