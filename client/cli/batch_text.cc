#include "client/cli/batch_text.h"

#include "absl/strings/str_cat.h"
#include "client/cli/text.h"

namespace neffcache::cli {
namespace {

void AddCount(std::string& line, size_t count, const char* what) {
  if (count != 0) absl::StrAppend(&line, ", ", count, " ", what);
}

}  // namespace

absl::optional<absl::Duration> BatchEta::Left(const BatchCounts& counts, absl::Duration elapsed) {
  // Hits take no time: only what was waited for tells how fast it goes.
  const size_t ended = counts.done() - counts.hits;
  if (ended == 0) return absl::nullopt;
  if (ended != ended_) {
    ended_ = ended;
    const auto left = static_cast<double>(counts.total - counts.done());
    end_ = elapsed + elapsed * (left / static_cast<double>(ended));
  }
  if (end_ <= elapsed) return absl::nullopt;
  return end_ - elapsed;
}

std::string BatchProgressText(const BatchCounts& counts, absl::Duration elapsed,
                              absl::optional<absl::Duration> left) {
  std::string line = absl::StrCat(counts.done(), "/", counts.total, " done");
  AddCount(line, counts.hits, counts.hits == 1 ? "hit" : "hits");
  AddCount(line, counts.failed, "failed");
  AddCount(line, counts.errors, counts.errors == 1 ? "error" : "errors");
  AddCount(line, counts.running, "running");
  AddCount(line, counts.queued, "queued");
  AddCount(line, counts.uploading, "uploading");
  AddCount(line, counts.reconnecting, "waiting for the daemon to come back");
  absl::StrAppend(&line, ", ", DurationText(elapsed));
  if (left.has_value()) absl::StrAppend(&line, ", ETA ", DurationText(*left));
  if (counts.queued > 0 && !counts.reason.empty()) absl::StrAppend(&line, " (", counts.reason, ")");
  return line;
}

std::string BatchSummaryText(const BatchCounts& counts, absl::Duration elapsed) {
  std::string line =
      absl::StrCat(counts.total, counts.total == 1 ? " key: " : " keys: ", counts.hits,
                   counts.hits == 1 ? " hit, " : " hits, ", counts.compiled, " compiled, ");
  if (counts.submitted != 0) absl::StrAppend(&line, counts.submitted, " queued, ");
  absl::StrAppend(&line, counts.failed, " failed");
  AddCount(line, counts.errors, counts.errors == 1 ? "error" : "errors");
  AddCount(line, counts.uncacheable, "uncacheable");
  absl::StrAppend(&line, " in ", DurationText(elapsed));
  return line;
}

}  // namespace neffcache::cli
