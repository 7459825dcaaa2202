#include "client/cli/exit_status.h"

#include "absl/strings/cord.h"
#include "client/daemon.h"

namespace neffcache::cli {
namespace {

constexpr char kUsagePayload[] = "neffcache/usage";

}  // namespace

absl::Status UsageError(absl::string_view sentence) {
  absl::Status status = absl::InvalidArgumentError(sentence);
  status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

ExitStatus ExitStatusOf(const absl::Status& status) {
  if (status.ok()) return ExitStatus::kDone;
  if (status.GetPayload(kUsagePayload).has_value()) return ExitStatus::kUsage;
  if (!FromDaemon(status)) return ExitStatus::kFailed;
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return ExitStatus::kUnreachable;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return ExitStatus::kNotPermitted;
    default:
      return ExitStatus::kFailed;
  }
}

}  // namespace neffcache::cli
