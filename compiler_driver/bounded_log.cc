#include "compiler_driver/bounded_log.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace neffcache {
namespace {

constexpr size_t kLineLimit = 4 << 10;
constexpr absl::string_view kLineEnds = "\r\n";

}  // namespace

void BoundedLog::Append(absl::string_view bytes) {
  const size_t to_head = std::min(bytes.size(), head_limit_ - head_.size());
  head_.append(bytes.data(), to_head);
  bytes.remove_prefix(to_head);
  if (bytes.size() > tail_limit_) {
    tail_forgotten_ += tail_.size() + bytes.size() - tail_limit_;
    tail_.clear();
    bytes.remove_prefix(bytes.size() - tail_limit_);
  }
  tail_.append(bytes.data(), bytes.size());
  // Trimmed at twice the limit, so that each byte moves once on average.
  if (tail_.size() > 2 * tail_limit_) {
    const size_t excess = tail_.size() - tail_limit_;
    tail_.erase(0, excess);
    tail_forgotten_ += excess;
  }
}

uint64_t BoundedLog::dropped() const {
  return tail_forgotten_ + (tail_.size() > tail_limit_ ? tail_.size() - tail_limit_ : 0);
}

std::string BoundedLog::Text() const {
  const uint64_t missing = dropped();
  if (missing == 0) return absl::StrCat(head_, tail_);
  absl::string_view end = tail_;
  end.remove_prefix(end.size() - std::min(end.size(), tail_limit_));
  return absl::StrCat(head_, "\n[neffcache: ", missing, " bytes of output dropped here]\n", end);
}

std::string BoundedLog::LastLine() const {
  for (absl::string_view text : {absl::string_view(tail_), absl::string_view(head_)}) {
    while (!text.empty()) {
      const size_t line_end = text.find_last_not_of(kLineEnds);
      if (line_end == absl::string_view::npos) break;
      text = text.substr(0, line_end + 1);
      const size_t before = text.find_last_of(kLineEnds);
      const size_t begin = before == absl::string_view::npos ? 0 : before + 1;
      const absl::string_view line = absl::StripAsciiWhitespace(text.substr(begin));
      if (!line.empty()) return std::string(line.substr(0, kLineLimit));
      text = text.substr(0, begin);
    }
  }
  return "";
}

}  // namespace neffcache
