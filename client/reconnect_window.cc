#include "client/reconnect_window.h"

#include <algorithm>

namespace neffcache {
namespace {

constexpr absl::Duration kFirstDelay = absl::Milliseconds(100);
constexpr absl::Duration kLongestDelay = absl::Seconds(2);

}  // namespace

absl::optional<absl::Duration> ReconnectWindow::AfterBreak(absl::Time now, absl::Duration held) {
  if (opened_ == absl::InfinitePast() || held >= length_) {
    opened_ = now;
    tries_ = 0;
  }
  const absl::Duration left = opened_ + length_ - now;
  if (left <= absl::ZeroDuration()) return absl::nullopt;
  const absl::Duration longest =
      std::min(kFirstDelay * (1 << std::min(tries_++, 10)), kLongestDelay);
  return std::min(longest * std::uniform_real_distribution<double>(0.5, 1)(random_), left);
}

}  // namespace neffcache
