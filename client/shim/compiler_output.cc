#include "client/shim/compiler_output.h"

#include <fcntl.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "io/file.h"

namespace neffcache::shim {
namespace {

constexpr absl::Duration kDotEvery = absl::Seconds(10);
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
