#include "compiler_driver/version_probe.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "compiler_driver/child_process.h"

namespace neffcache {
namespace {

constexpr absl::Duration kProbeLimit = absl::Minutes(2);

}  // namespace

absl::StatusOr<std::string> AskVersion(const std::string& program,
                                       const std::vector<std::string>& environment,
                                       const std::string& directory, const std::stop_token& stop) {
  ChildSpec spec;
  spec.argv = {program, "--version"};
  spec.environment = environment;
  spec.working_directory = directory;
  spec.limits.wall_clock = kProbeLimit;
  const ChildResult result = RunChild(spec, stop, nullptr);
  switch (result.end) {
    case ChildEnd::kExited:
      if (result.exit_code == 0) return result.log;
      return absl::UnavailableError(
          absl::StrCat("asking ", program, " for its version: it exited with ", result.exit_code,
                       ": ", result.log.substr(0, 400)));
    case ChildEnd::kNotStarted:
      return absl::UnavailableError(result.start_error.message());
    case ChildEnd::kTimedOut:
      return absl::UnavailableError(absl::StrCat("asking ", program,
                                                 " for its version: no answer within ",
                                                 absl::FormatDuration(kProbeLimit)));
    default:
      return absl::UnavailableError(absl::StrCat(
          "asking ", program, " for its version: it was ended by signal ", result.signal));
  }
}

}  // namespace neffcache
