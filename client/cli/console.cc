#include "client/cli/console.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace neffcache::cli {
namespace {

constexpr absl::string_view kEraseLine = "\r\x1b[K";

size_t TerminalWidth() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

// Whether stdout is a pipe that nobody reads any more.
bool ReaderHasGone() {
  pollfd out = {STDOUT_FILENO, 0, 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// Compilers' log lines come from anywhere: a terminal must not act on them.
std::string Printable(absl::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return result;
}

}  // namespace

Console::Console(std::ostream& out, std::ostream& error, bool error_is_terminal)
    : out_(out), error_(error), error_is_terminal_(error_is_terminal) {}

void Console::Print(absl::string_view line) {
  if (json_) return;
  ClearProgress();
  out_ << line << '\n';
}

void Console::PrintRaw(absl::string_view text) {
  if (json_) return;
  ClearProgress();
  out_ << text;
}

void Console::PrintHelp(absl::string_view text) {
  out_ << text << std::flush;
}

void Console::Note(absl::string_view sentence) {
  ClearProgress();
  error_ << "neffcache: " << Printable(sentence) << std::endl;
}

void Console::Report(const absl::Status& status) {
  if (status.ok()) return;
  Note(status.message());
  errors_.push_back({{"code", absl::StatusCodeToString(status.code())},
                     {"message", std::string(status.message())}});
  Raise(ExitStatusOf(status));
}

void Console::ShowProgress(absl::string_view line) {
  std::string text = Printable(line);
  if (!error_is_terminal_) {
    error_ << "neffcache: " << text << std::endl;
    return;
  }
  // One column is left free, or the terminal goes on to the next line.
  text.resize(std::min(text.size(), TerminalWidth() - 1));
  error_ << kEraseLine << text << std::flush;
  progress_drawn_ = true;
}

void Console::ClearProgress() {
  if (!progress_drawn_) return;
  error_ << kEraseLine << std::flush;
  progress_drawn_ = false;
}

ExitStatus Console::Finish() {
  ClearProgress();
  if (json_) {
    if (!errors_.empty()) document_["errors"] = errors_;
    // Paths and log lines need not be UTF-8.
    out_ << document_.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  }
  out_.flush();
  // Who reads no further, as head does, has what it wanted.
  if (!out_.good() && !ReaderHasGone()) {
    Note("writing the result: the output cannot be written");
    Raise(ExitStatus::kFailed);
  }
  return exit_status_;
}

void Console::Raise(ExitStatus status) {
  exit_status_ = std::max(exit_status_, status);
}

}  // namespace neffcache::cli
