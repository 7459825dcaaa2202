#include "client/cli/batch_text.h"

#include <gtest/gtest.h>

#include "client/cli/text.h"

namespace neffcache::cli {
namespace {

TEST(BatchTextTest, ProgressHasCountsAndTimeGoneAndLeft) {
  BatchCounts counts;
  counts.total = 40;
  counts.hits = 3;
  counts.compiled = 8;
  counts.failed = 1;
  counts.running = 8;
  counts.queued = 20;
  EXPECT_EQ(BatchProgressText(counts, absl::Seconds(18), absl::Seconds(56)),
            "12/40 done, 3 hits, 1 failed, 8 running, 20 queued, 18.0s, ETA 56.0s");
}

TEST(BatchTextTest, WithoutACompileThereIsNoTimeLeftButTheReasonToWait) {
  BatchCounts counts;
  counts.total = 2;
  counts.queued = 2;
  counts.reason = "no worker offers neuronx-cc 2.27";
  EXPECT_EQ(BatchProgressText(counts, absl::Seconds(5), absl::nullopt),
            "0/2 done, 2 queued, 5.0s (no worker offers neuronx-cc 2.27)");
}

TEST(BatchTextTest, SummaryCountsWhatBecameOfEachKey) {
  BatchCounts counts;
  counts.total = 1;
  counts.hits = 1;
  EXPECT_EQ(BatchSummaryText(counts, absl::Milliseconds(40)),
            "1 key: 1 hit, 0 compiled, 0 failed in 0.0s");
  counts.errors = 2;
  counts.uncacheable = 1;
  EXPECT_EQ(BatchSummaryText(counts, absl::Milliseconds(40)),
            "1 key: 1 hit, 0 compiled, 0 failed, 2 errors, 1 uncacheable in 0.0s");
}

TEST(BatchEtaTest, TheTimeLeftRunsDownUntilMoreIsKnown) {
  BatchEta eta;
  BatchCounts counts;
  counts.total = 10;
  counts.hits = 2;
  EXPECT_FALSE(eta.Left(counts, absl::Seconds(5)).has_value()) << "hits say nothing";
  counts.compiled = 2;
  EXPECT_EQ(eta.Left(counts, absl::Seconds(20)), absl::Seconds(60));
  EXPECT_EQ(eta.Left(counts, absl::Seconds(30)), absl::Seconds(50));
  EXPECT_EQ(eta.Left(counts, absl::Seconds(79)), absl::Seconds(1));
  EXPECT_FALSE(eta.Left(counts, absl::Seconds(81)).has_value()) << "it is late: nobody knows";
  counts.compiled = 4;
  EXPECT_EQ(eta.Left(counts, absl::Seconds(100)), absl::Seconds(100));
}

TEST(TextTest, FiguresAreForPeople) {
  EXPECT_EQ(BytesText(999), "999 B");
  EXPECT_EQ(BytesText(12'345'678), "12.3 MB");
  EXPECT_EQ(BytesText(999'999), "1.0 MB");
  EXPECT_EQ(DurationText(absl::Milliseconds(12'340)), "12.3s");
  EXPECT_EQ(DurationText(absl::Seconds(200)), "3m20s");
  EXPECT_EQ(DurationText(absl::Minutes(125)), "2h05m");
}

TEST(TextTest, TablesAlignTheirColumnsWithoutTrailingBlanks) {
  Table table;
  table.Add({"A", "LONG", ""});
  table.Add({"aaa", "b", "c"});
  EXPECT_EQ(table.Lines(), (std::vector<std::string>{"A    LONG", "aaa  b     c"}));
}

}  // namespace
}  // namespace neffcache::cli
