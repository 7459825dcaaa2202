#include "client/shim/compiler_output.h"

#include <fcntl.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "io/file.h"

namespace neffcache::shim {
namespace {

constexpr absl::Duration kDotEvery = absl::Seconds(10);
constexpr char kStatusLine[] = "Compiler status ";
constexpr char kDefaultLog[] = "log-neuron-cc.txt";

}  // namespace

void CompilerProgress::Tick(absl::Time now) {
  if (now - last_dot_ < kDotEvery) return;
  last_dot_ = now;
  drawn_ = true;
  std::fputc('.', out_);
  std::fflush(out_);
}

void CompilerProgress::Pass() {
  if (!drawn_) std::fputc('.', out_);
  std::fputs("\nCompiler status PASS\n", out_);
  std::fflush(out_);
}

void CompilerProgress::Fail(absl::string_view text) {
  if (drawn_) text.remove_prefix(std::min(text.size(), text.find_first_not_of('.')));
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

CompilerStreams SplitStreams(absl::string_view log) {
  CompilerStreams streams;
  while (!log.empty()) {
    size_t dots = std::min(log.find_first_not_of('.'), log.size());
    if (dots < log.size() && log[dots] == '/') dots = 0;  // A relative path.
    streams.out.append(log.data(), dots);
    log.remove_prefix(dots);
    if (log.empty()) break;
    const absl::string_view line = log.substr(0, std::min(log.find('\n'), log.size() - 1) + 1);
    log.remove_prefix(line.size());
    const bool ends_dots = dots > 0 && line == "\n";
    std::string& stream =
        ends_dots || absl::StartsWith(line, kStatusLine) ? streams.out : streams.err;
    stream.append(line.data(), line.size());
  }
  return streams;
}

void AppendCompilerLog(const std::string& logfile, absl::string_view text) {
  const std::string path = logfile.empty() ? kDefaultLog : logfile;
  // O_NONBLOCK: a log that turns out to be a pipe must not hold up the trainer.
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644));
  if (fd.valid()) WriteAll(fd.get(), text, path).IgnoreError();
}

std::string LogLine(absl::Time now, int pid, absl::string_view text) {
  // Milliseconds padded to six digits, as the compiler's wrapper writes them.
  const int64_t milliseconds = absl::ToUnixMillis(now) % 1000;
  return absl::StrFormat("%s.%06d:  %d  INFO ||NEFFCACHE||: %s\n",
                         absl::FormatTime("%Y-%m-%d %H:%M:%S", now, absl::LocalTimeZone()),
                         milliseconds, pid, text);
}

}  // namespace neffcache::shim
