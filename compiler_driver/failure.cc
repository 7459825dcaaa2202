#include "compiler_driver/failure.h"

#include <signal.h>
#include <string.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "io/utf8.h"

namespace neffcache {
namespace {

constexpr size_t kEvidenceLimit = 400;
constexpr int kKilledExit = 128 + SIGKILL;
constexpr int kNotFoundExit = 127;

// Traces of an allocation that failed or of the kernel's OOM killer somewhere in the tree. The
// compiler's driver survives the death of its children and exits 70.
constexpr absl::string_view kMemorySigns[] = {"[F137]",
                                              "std::bad_alloc",
                                              "MemoryError",
                                              "Cannot allocate memory",
                                              "error code: -9",
                                              "exitcode=-9",
                                              "exit code -9",
                                              "returned -9",
                                              "code 137",
                                              "Out of memory",
                                              "died with <Signals.SIGKILL"};

// Traces of a machine at fault: a library, disk or descriptor that is missing here and now.
constexpr absl::string_view kEnvironmentSigns[] = {
    "error while loading shared libraries", "cannot open shared object file",
    "No space left on device", "Disk quota exceeded", "Too many open files", "Stale file handle",
    "Resource temporarily unavailable", "Input/output error", "Read-only file system",
    "ModuleNotFoundError", "ImportError",
    // A kernel's file is not there.
    "NCC_EVRF059"};

absl::string_view LineAround(absl::string_view text, size_t at) {
  const size_t before = at == 0 ? absl::string_view::npos : text.find_last_of("\r\n", at - 1);
  const size_t begin = before == absl::string_view::npos ? 0 : before + 1;
  const size_t end = text.find_first_of("\r\n", at);
  return absl::StripAsciiWhitespace(
      text.substr(begin, end == absl::string_view::npos ? end : end - begin));
}

// The line that holds the last of `signs`; empty when none occurs.
template <typename Signs>
absl::string_view FindSign(absl::string_view text, const Signs& signs) {
  for (absl::string_view sign : signs) {
    const size_t at = text.rfind(sign);
    if (at != absl::string_view::npos) return LineAround(text, at);
  }
  return "";
}

size_t CountWhile(absl::string_view text, size_t from, bool (*is)(unsigned char)) {
  size_t count = 0;
  while (from + count < text.size() && is(static_cast<unsigned char>(text[from + count]))) ++count;
  return count;
}

bool IsUpper(unsigned char c) {
  return absl::ascii_isupper(c);
}
bool IsDigit(unsigned char c) {
  return absl::ascii_isdigit(c);
}

// The line of the compiler's last diagnostic: "NCC_EVRF007" (current) or "[TEN404]" (older), two
// to four capitals and three or four digits. "[F137]" and "[F134]" have one capital: they say how a
// child died and nothing about the graph.
absl::string_view FindDiagnostic(absl::string_view text) {
  absl::string_view found;
  constexpr absl::string_view kPrefix = "NCC_";
  for (size_t at = text.find(kPrefix); at != absl::string_view::npos;
       at = text.find(kPrefix, at + 1)) {
    const size_t letters = CountWhile(text, at + kPrefix.size(), IsUpper);
    if (letters > 0 && CountWhile(text, at + kPrefix.size() + letters, IsDigit) >= 3) {
      found = LineAround(text, at);
    }
  }
  if (!found.empty()) return found;
  for (size_t at = text.find('['); at != absl::string_view::npos; at = text.find('[', at + 1)) {
    const size_t letters = CountWhile(text, at + 1, IsUpper);
    const size_t digits = CountWhile(text, at + 1 + letters, IsDigit);
    const size_t end = at + 1 + letters + digits;
    if (letters >= 2 && letters <= 4 && digits >= 3 && digits <= 4 && end < text.size() &&
        text[end] == ']') {
      found = LineAround(text, at);
    }
  }
  return found;
}

constexpr absl::string_view kUsageSigns[] = {"unrecognized arguments", "unrecognized option",
                                             "unknown option", "unknown argument",
                                             "Unknown command line flag"};

std::string Quote(absl::string_view line) {
  return absl::StrCat(": ", ToUtf8(line.substr(0, kEvidenceLimit)));
}

std::string HowItEnded(const ChildResult& child) {
  if (child.signal != 0) {
    return absl::StrCat("was ended by signal ", child.signal, " (", strsignal(child.signal), ")");
  }
  return absl::StrCat("exited with ", child.exit_code);
}

// What we did to the child, or could not do, needs no reading of logs.
bool ClassifyOwnDoing(const FailureEvidence& evidence, CompileFailure& failure) {
  const ChildResult& child = evidence.child;
  const std::string after = absl::StrCat(
      " after ", absl::FormatDuration(absl::Trunc(child.wall_clock, absl::Milliseconds(1))),
      " and with ", child.peak_memory_bytes >> 20, " MiB at its peak");
  switch (child.end) {
    case ChildEnd::kNotStarted:
      failure.failure_class = CompileFailureClass::kTransient;
      failure.message =
          absl::StrCat(evidence.program, " could not be started: ", child.start_error.message());
      return true;
    case ChildEnd::kTimedOut:
      failure.failure_class = CompileFailureClass::kTransient;
      failure.message = absl::StrCat(evidence.program, " was killed at its time limit", after);
      return true;
    case ChildEnd::kCancelled:
      failure.failure_class = CompileFailureClass::kTransient;
      failure.message = absl::StrCat(evidence.program, " was cancelled", after);
      return true;
    case ChildEnd::kOverMemory:
      failure.failure_class = CompileFailureClass::kMemory;
      failure.message = absl::StrCat(evidence.program, " was killed at its memory limit", after);
      return true;
    case ChildEnd::kOverOutput:
      // It would be as large the next time, but this limit is ours and not the compiler's.
      failure.failure_class = CompileFailureClass::kUnclear;
      failure.message =
          absl::StrCat(evidence.program, " wrote an output larger than the store takes");
      return true;
    case ChildEnd::kExited:
    case ChildEnd::kSignalled:
      return false;
  }
  return false;
}

}  // namespace

absl::string_view ToString(CompileFailureClass failure_class) {
  switch (failure_class) {
    case CompileFailureClass::kDeterministic:
      return "deterministic";
    case CompileFailureClass::kMemory:
      return "memory";
    case CompileFailureClass::kTransient:
      return "transient";
    case CompileFailureClass::kUnclear:
      return "unclear";
  }
  return "unclear";
}

CompileFailure ClassifyFailure(const FailureEvidence& evidence) {
  const ChildResult& child = evidence.child;
  CompileFailure failure;
  failure.exit_code = child.signal != 0 ? -1 : child.exit_code;
  failure.signal = child.signal;
  if (ClassifyOwnDoing(evidence, failure)) {
    failure.message = std::string(Utf8Head(ToUtf8(failure.message), 1024));
    return failure;
  }

  const auto find = [&](auto finder) {
    const absl::string_view in_output = finder(child.log);
    return in_output.empty() ? finder(evidence.log_file) : in_output;
  };
  const absl::string_view memory =
      find([](absl::string_view text) { return FindSign(text, kMemorySigns); });
  const absl::string_view environment =
      find([](absl::string_view text) { return FindSign(text, kEnvironmentSigns); });
  const absl::string_view diagnostic = find(FindDiagnostic);
  const absl::string_view usage =
      find([](absl::string_view text) { return FindSign(text, kUsageSigns); });
  const std::string ended = HowItEnded(child);

  if (child.end == ChildEnd::kExited && child.exit_code == 0) {
    failure.failure_class = CompileFailureClass::kTransient;
    failure.message =
        absl::StrCat(evidence.program,
                     " exited with 0 but its output is no good: ", evidence.output_error.message());
  } else if (child.signal == SIGKILL || child.exit_code == kKilledExit || !memory.empty()) {
    failure.failure_class = CompileFailureClass::kMemory;
    failure.message = absl::StrCat(evidence.program, " ", ended, ", most likely for memory (",
                                   child.peak_memory_bytes >> 20, " MiB at its peak)",
                                   memory.empty() ? "" : Quote(memory));
  } else if (child.signal != 0 || child.exit_code == kNotFoundExit || !environment.empty()) {
    failure.failure_class = CompileFailureClass::kTransient;
    failure.message =
        absl::StrCat(evidence.program, " ", ended, environment.empty() ? "" : Quote(environment));
  } else if (!diagnostic.empty() || !usage.empty()) {
    failure.failure_class = CompileFailureClass::kDeterministic;
    failure.message =
        absl::StrCat(evidence.program, " ", ended, Quote(diagnostic.empty() ? usage : diagnostic));
  } else {
    failure.failure_class = CompileFailureClass::kUnclear;
    failure.message = absl::StrCat(evidence.program, " ", ended, " without a diagnostic");
  }
  failure.message = std::string(Utf8Head(ToUtf8(failure.message), 1024));
  return failure;
}

}  // namespace neffcache
