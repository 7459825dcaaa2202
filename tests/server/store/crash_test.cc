#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "tests/server/store/crash_scenario.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

// Runs store_crasher until its own death at `step`.
void CrashAt(const std::string& directory, std::string action, std::string step) {
  std::string program = NEFFCACHE_STORE_CRASHER;
  std::string data_dir = directory;
  const std::array<char*, 5> arguments = {program.data(), data_dir.data(), action.data(),
                                          step.data(), nullptr};
  pid_t child;
  ASSERT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it ended with " << WEXITSTATUS(status);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
}

struct Crash {
  const char* action;
  const char* step;
  bool kept;  // What was asked for is there after the crash.
};

std::string NameOf(const testing::TestParamInfo<Crash>& info) {
  std::string name = std::string(info.param.action) + "_" + info.param.step;
  for (char& c : name) c = c == ' ' || c == '-' ? '_' : c;
  return name;
}

class CommitCrashTest : public testing::TestWithParam<Crash> {
 protected:
  TemporaryDirectory directory_;
};

TEST_P(CommitCrashTest, LeavesTheStateBeforeOrAfterAndTheNextCommitSucceeds) {
  const bool is_inline = std::string(GetParam().action) == "commit-inline";
  const Entry entry = CrashEntry(is_inline);
  const std::string artifact = CrashArtifact(is_inline);
  {
    // The compile was queued before: a crash must not lose it.
    auto store = Store::Open(CrashOptions(directory_.path()));
    ASSERT_THAT(store, IsOk());
    ASSERT_THAT((*store)->Enqueue(CrashQueued(),
                                  StageCompressed(**store, ContentKind::kGraph, CrashGraph())),
                IsOk());
  }
  CrashAt(directory_.path(), GetParam().action, GetParam().step);

  auto store = Store::Open(CrashOptions(directory_.path()));
  ASSERT_THAT(store, IsOk());
  const absl::StatusOr<Entry> found = (*store)->Find(entry.key);
  if (GetParam().kept) {
    ASSERT_THAT(found, IsOk());
    EXPECT_EQ(*found->ready(), *entry.ready());
    EXPECT_EQ(ContentOf(**store, ContentKind::kArtifact, entry.ready()->digest), artifact);
    EXPECT_EQ(ContentOf(**store, ContentKind::kLog, found->log), "log");
    EXPECT_TRUE((*store)->LoadQueue()->empty());
  } else {
    EXPECT_THAT(found, HasCode(absl::StatusCode::kNotFound));
    EXPECT_THAT((*store)->OpenContent(ContentKind::kArtifact, entry.ready()->digest),
                HasCode(absl::StatusCode::kNotFound));
    EXPECT_EQ((*store)->LoadQueue()->size(), 1u);
  }
  EXPECT_EQ((*store)->Count()->entries_ready, GetParam().kept ? 1u : 0u);
  EXPECT_EQ((*store)->Count()->artifacts, GetParam().kept ? 1u : 0u);

  const auto again = (*store)->CommitReady(entry, StageArtifact(**store, artifact), absl::nullopt);
  ASSERT_THAT(again, IsOk());
  // A record of what was not acknowledged is whole all the same, and the first artifact stays.
  const bool recorded = std::string(GetParam().step) == "record written";
  EXPECT_EQ(again->accepted, !GetParam().kept && !recorded);
  EXPECT_EQ(ContentOf(**store, ContentKind::kArtifact, entry.ready()->digest), artifact);
  EXPECT_TRUE((*store)->LoadQueue()->empty());
}

INSTANTIATE_TEST_SUITE_P(EachStep, CommitCrashTest,
                         testing::Values(Crash{"commit", "staged", false},
                                         Crash{"commit", "log placed", false},
                                         Crash{"commit", "artifact placed", false},
                                         Crash{"commit", "record written", false},
                                         Crash{"commit", "committed", true},
                                         Crash{"commit-inline", "staged", false},
                                         Crash{"commit-inline", "log placed", false},
                                         Crash{"commit-inline", "artifact placed", false},
                                         Crash{"commit-inline", "record written", false},
                                         Crash{"commit-inline", "committed", true}),
                         NameOf);

class EnqueueCrashTest : public CommitCrashTest {};

TEST_P(EnqueueCrashTest, LeavesTheStateBeforeOrAfter) {
  CrashAt(directory_.path(), GetParam().action, GetParam().step);
  auto store = Store::Open(CrashOptions(directory_.path()));
  ASSERT_THAT(store, IsOk());
  const auto queue = (*store)->LoadQueue();
  ASSERT_THAT(queue, IsOk());
  ASSERT_EQ(queue->size(), GetParam().kept ? 1u : 0u);
  if (GetParam().kept) {
    EXPECT_EQ(queue->front().key, CrashQueued().key);
    EXPECT_EQ(ContentOf(**store, ContentKind::kGraph, queue->front().graph.digest), CrashGraph());
    EXPECT_THAT((*store)->FindGraph(CrashQueued().material.fingerprint), IsOk());
  }
}

INSTANTIATE_TEST_SUITE_P(EachStep, EnqueueCrashTest,
                         testing::Values(Crash{"enqueue", "staged", false},
                                         Crash{"enqueue", "graph placed", false},
                                         Crash{"enqueue", "queued", true}),
                         NameOf);

TEST(CrashTest, DeadHoldersLockIsFree) {
  TemporaryDirectory directory;
  CrashAt(directory.path(), "commit", "committed");
  EXPECT_THAT(Store::Open(CrashOptions(directory.path())), IsOk());
}

}  // namespace
}  // namespace neffcache
