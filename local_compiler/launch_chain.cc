#include "local_compiler/launch_chain.h"

#include <cstdint>
#include <filesystem>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "io/file.h"
#include "local_compiler/program_search.h"

namespace neffcache {
namespace {

constexpr int kLongestChain = 8;
constexpr size_t kScriptLimit = size_t{64} << 10;

// What a script hands over to; `path` is empty when that cannot be told.
struct Successor {
  std::string path;
  std::string arguments;  // As the shell reads them.
};

// The beginning of a file; empty when it cannot be read. A longer script is no mere launcher.
std::string Beginning(const std::string& path) {
  const absl::StatusOr<Fd> file = OpenForRead(path);
  if (!file.ok()) return "";
  std::string text(kScriptLimit, '\0');
  const absl::StatusOr<size_t> size = ReadAt(file->get(), 0, std::span<char>(text), path);
  text.resize(size.ok() ? *size : 0);
  return text;
}

absl::string_view FirstWord(absl::string_view text) {
  return text.substr(0, text.find_first_of(" \t"));
}

absl::string_view BaseName(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0.
}

bool IsPython(absl::string_view path) {
  return absl::StartsWith(path, "/") && absl::StartsWith(BaseName(path), "python");
}

bool IsShell(absl::string_view path) {
  const absl::string_view name = BaseName(path);
  return absl::StartsWith(path, "/") && (name == "sh" || name == "bash" || name == "dash");
}

// The interpreter that a "#!" line names; empty when there is no such line.
absl::string_view InterpreterOf(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "#!")) return "";
  return FirstWord(absl::StripAsciiWhitespace(text.substr(0, text.find('\n'))));
}

// True for what a shell takes as it is, beside the parameters' values: neither a second command nor
// a substitution that runs one.
bool IsPlain(absl::string_view text) {
  return text.find_first_of(";&|<>`\\(){}*?[]#~!") == absl::string_view::npos;
}

// Takes one word off the front, without its quotes. Empty when it is none, or depends on anything.
std::string TakeLiteral(absl::string_view& text) {
  absl::string_view word;
  if (!text.empty() && (text.front() == '\'' || text.front() == '"')) {
    const size_t end = text.find(text.front(), 1);
    if (end == absl::string_view::npos) return "";
    word = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
  } else {
    word = FirstWord(text);
    text.remove_prefix(word.size());
  }
  // What follows directly would belong to the word.
  const bool ends = text.empty() || text.front() == ' ' || text.front() == '\t';
  if (!ends || !IsPlain(word) || word.find_first_of("$'\"") != absl::string_view::npos) return "";
  return std::string(word);
}

// True for `NAME=word` and `export NAME=word`, but for variables that change what Python imports.
bool IsAssignment(absl::string_view line) {
  absl::ConsumePrefix(&line, "export ");
  const size_t name_end = line.find('=');
  if (name_end == absl::string_view::npos || name_end == 0) return false;
  const absl::string_view name = line.substr(0, name_end);
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  if (absl::StartsWith(name, "PYTHON") || name == "LD_PRELOAD") return false;
  absl::string_view value = line.substr(name_end + 1);
  if (!IsPlain(value)) return false;
  // `NAME=value command` runs a command.
  if (!value.empty() && (value.front() == '"' || value.front() == '\'')) {
    return value.find(value.front(), 1) == value.size() - 1;
  }
  return value.find_first_of(" \t'\"") == absl::string_view::npos;
}

// True for `set -eu` and the like.
bool IsShellOption(absl::string_view line) {
  return absl::ConsumePrefix(&line, "set -") && line.find_first_not_of("eux") == line.npos;
}

Successor SuccessorOf(absl::string_view script) {
  for (absl::string_view line : absl::StrSplit(script, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#' || IsAssignment(line) || IsShellOption(line)) continue;
    // Pip's form for a Python whose path is too long for "#!": Python reads it as a string.
    if (!absl::ConsumePrefix(&line, "exec ") && !absl::ConsumePrefix(&line, "'''exec' ")) return {};
    line = absl::StripLeadingAsciiWhitespace(line);
    Successor successor{TakeLiteral(line), std::string(absl::StripAsciiWhitespace(line))};
    if (!absl::StartsWith(successor.path, "/") || !IsPlain(successor.arguments)) return {};
    return successor;
  }
  return {};
}

}  // namespace

LaunchChain FollowLaunch(const std::string& program) {
  LaunchChain chain;
  std::string path = program;
  for (int i = 0; i < kLongestChain && !path.empty(); ++i) {
    chain.files.push_back(path);
    if (!IsExecutableFile(path) || IsOurShim(path, "")) return chain;
    const std::string text = Beginning(path);
    if (text.size() == kScriptLimit) return chain;
    const std::string interpreter(InterpreterOf(text));
    if (IsPython(interpreter)) {
      chain.files.push_back(interpreter);
      chain.script = path;
      chain.python = interpreter;
      return chain;
    }
    if (!IsShell(interpreter)) return chain;
    Successor successor = SuccessorOf(text);
    if (IsPython(successor.path) && absl::StartsWith(successor.arguments, "\"$0\"")) {
      chain.files.push_back(successor.path);
      chain.script = path;
      chain.python = successor.path;
      return chain;
    }
    path = std::move(successor.path);
  }
  return chain;
}

}  // namespace neffcache
