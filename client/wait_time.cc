#include "client/wait_time.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace neffcache {

absl::optional<absl::Duration> ParseWaitTime(const std::string& text) {
  double seconds = 0;
  absl::Duration parsed;
  if (absl::SimpleAtod(text, &seconds)) {
    if (!(seconds >= 0)) return absl::nullopt;  // Nor a number at all.
    return absl::Seconds(seconds);
  }
  if (!absl::ParseDuration(text, &parsed) || parsed < absl::ZeroDuration()) return absl::nullopt;
  return parsed;
}

std::string WaitTimeText(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 60) return absl::StrCat(seconds, "s");
  const int64_t minutes = seconds / 60;
  if (minutes < 60) {
    return seconds % 60 == 0 ? absl::StrCat(minutes, "m")
                             : absl::StrCat(minutes, "m", seconds % 60, "s");
  }
  return minutes % 60 == 0 ? absl::StrCat(minutes / 60, "h")
                           : absl::StrCat(minutes / 60, "h", minutes % 60, "m");
}

}  // namespace neffcache
