#include "client/cli/batch_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/text.h"

namespace neffcache::cli {
namespace {

void AddCount(std::string& line, size_t count, const char* what) {
  if (count != 0) absl::StrAppend(&line, ", ", count, " ", what);
}

}  // namespace

std::string BatchProgressText(const BatchCounts& counts, absl::Duration elapsed) {
  std::string line = absl::StrCat(counts.done(), "/", counts.total, " done");
  AddCount(line, counts.hits, counts.hits == 1 ? "hit" : "hits");
  AddCount(line, counts.failed, "failed");
  AddCount(line, counts.running, "running");
  AddCount(line, counts.queued, "queued");
  AddCount(line, counts.uploading, "uploading");
  AddCount(line, counts.reconnecting, "waiting for the daemon to come back");
  // Hits take no time: only what was waited for tells how fast it goes.
  const size_t waited_for = counts.compiled + counts.failed + counts.submitted;
  if (waited_for > 0 && elapsed > absl::ZeroDuration()) {
    const double rate = static_cast<double>(waited_for) / absl::ToDoubleSeconds(elapsed);
    const double left = static_cast<double>(counts.total - counts.done()) / rate;
    // A slow one keeps two digits.
    const std::string rate_text =
        rate < 0.095 ? absl::StrFormat("%.2f", rate) : absl::StrFormat("%.1f", rate);
    absl::StrAppend(&line, ", ", rate_text, "/s, ETA ", DurationText(absl::Seconds(left)));
  }
  if (counts.queued > 0 && !counts.reason.empty()) absl::StrAppend(&line, " (", counts.reason, ")");
  return line;
}

std::string BatchSummaryText(const BatchCounts& counts, absl::Duration elapsed) {
  std::string line =
      absl::StrCat(counts.total, counts.total == 1 ? " key: " : " keys: ", counts.hits,
                   counts.hits == 1 ? " hit, " : " hits, ", counts.compiled, " compiled, ");
  if (counts.submitted != 0) absl::StrAppend(&line, counts.submitted, " queued, ");
  absl::StrAppend(&line, counts.failed, " failed in ", DurationText(elapsed));
  return line;
}

}  // namespace neffcache::cli
