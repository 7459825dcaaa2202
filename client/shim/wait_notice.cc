#include "client/shim/wait_notice.h"

#include "absl/strings/str_cat.h"
#include "client/wait_time.h"

namespace neffcache::shim {
namespace {

using Phase = CompileProgress::Phase;

constexpr size_t kShownDigits = 12;

std::string OfAbout(absl::Duration expected) {
  return expected > absl::ZeroDuration() ? absl::StrCat(" of about ", WaitTimeText(expected)) : "";
}

std::string Doing(const CompileProgress& progress) {
  switch (progress.phase) {
    case Phase::kUploading:
      return absl::StrCat("sending its graph, ", progress.detail);
    case Phase::kRunning:
      return absl::StrCat(
          "compiling", progress.worker.empty() ? "" : absl::StrCat(" on worker ", progress.worker),
          " for ", WaitTimeText(progress.elapsed), OfAbout(progress.expected));
    default:
      return absl::StrCat("queued",
                          progress.position > 0 ? absl::StrCat(" behind ", progress.position) : "",
                          progress.detail.empty() ? "" : absl::StrCat(" (", progress.detail, ")"));
  }
}

}  // namespace

// The client's errors begin with what was asked of which daemon; here, that is known.
std::string WaitNotice::Because(absl::string_view detail) const {
  const std::string asked = absl::StrCat(" at ", daemon_, ": ");
  const size_t at = detail.find(asked);
  if (at != absl::string_view::npos) detail.remove_prefix(at + asked.size());
  return detail.empty() ? "" : absl::StrCat(" (", detail, ")");
}

std::string WaitNotice::On(const CompileProgress& progress, absl::Time now) {
  if (progress.phase == Phase::kReconnecting) {
    if (std::exchange(away_, true)) return "";
    return absl::StrCat("the daemon at ", daemon_, " was lost", Because(progress.detail),
                        "; trying to reach it again for ", WaitTimeText(progress.expected));
  }
  away_ = false;
  if (now < next_) return "";
  next_ = now + kEvery;
  return absl::StrCat("waiting ", WaitTimeText(now - begin_), " for key ",
                      progress.key.substr(0, kShownDigits), ", ", Doing(progress));
}

}  // namespace neffcache::shim
