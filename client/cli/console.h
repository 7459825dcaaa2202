#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/exit_status.h"

namespace neffcache::cli {

// JSON objects keep the order in which their members were added.
using Json = nlohmann::ordered_json;

// Where a command's results, messages and progress go.
//
// Results are text lines on stdout or, with --json, one document written at the end, which also
// holds the errors. Messages and progress are on stderr. Used by one thread.
class Console {
 public:
  // `error_is_terminal`: progress is drawn there.
  Console(std::ostream& out, std::ostream& error, bool error_is_terminal);

  void UseJson() { json_ = true; }
  bool json() const { return json_; }

  // A line of the text result; nothing with --json.
  void Print(absl::string_view line);
  // Text of a result as it is, e.g. a log; nothing with --json.
  void PrintRaw(absl::string_view text);
  // What --help and --version ask for, with --json too.
  void PrintHelp(absl::string_view text);
  // The document of --json, an object; nothing shows it otherwise. Its members move when one is
  // added: no reference to one may be kept.
  Json& document() { return document_; }

  // One sentence for people.
  void Note(absl::string_view sentence);
  // An error: a sentence, an element of the document's "errors", and the exit status.
  void Report(const absl::Status& status);
  // What was asked for is absent or failed, and the result says so already.
  void Fail() { Raise(ExitStatus::kFailed); }
  // A signal ended the command.
  void Interrupt() { Raise(ExitStatus::kInterrupted); }

  // Shows how far a long command is: the last line of a terminal, redrawn each time; elsewhere a
  // line of its own. The caller decides how often; progress_is_drawn() says which it is.
  void ShowProgress(absl::string_view line);
  bool progress_is_drawn() const { return error_is_terminal_; }
  // Takes the drawn line away.
  void ClearProgress();

  // Writes the document and returns the exit status. A result that cannot be written is an error.
  ExitStatus Finish();

 private:
  void Raise(ExitStatus status);

  std::ostream& out_;
  std::ostream& error_;
  const bool error_is_terminal_;
  bool json_ = false;
  bool progress_drawn_ = false;
  Json document_ = Json::object();
  Json errors_ = Json::array();
  ExitStatus exit_status_ = ExitStatus::kDone;
};

}  // namespace neffcache::cli
