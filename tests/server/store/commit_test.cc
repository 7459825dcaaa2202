#include <filesystem>
#include <string>
#include <utility>

#include "io/file.h"
#include "server/store/entry_codec.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

using CommitTest = StoreTest;

TEST_F(CommitTest, CommittedEntryIsFoundAsItWasGiven) {
  const Entry given = ReadyEntry(1, "artifact");
  const Store::Committed committed = CommitArtifact(*store_, 1, "artifact");
  EXPECT_TRUE(committed.accepted);
  const Entry found = store_->Find(given.key).value();
  for (const Entry& entry : {committed.entry, found}) {
    EXPECT_EQ(entry.key, given.key);
    EXPECT_EQ(entry.material, given.material);
    EXPECT_EQ(*entry.ready(), *given.ready());
    EXPECT_EQ(entry.created, given.created);
    EXPECT_EQ(entry.compile_time, given.compile_time);
    EXPECT_EQ(entry.peak_memory_bytes, given.peak_memory_bytes);
    EXPECT_EQ(entry.graph.digest, given.graph.digest);
    EXPECT_EQ(entry.graph.name, given.graph.name);
    EXPECT_EQ(entry.worker, given.worker);
    EXPECT_EQ(entry.fencing_token, given.fencing_token);
  }
}

TEST_F(CommitTest, CreationTimeIsSetWhenItIsNotGiven) {
  Entry entry = ReadyEntry(1, "artifact");
  entry.created = absl::UnixEpoch();
  ASSERT_THAT(store_->CommitReady(entry, StageArtifact(*store_, "artifact"), absl::nullopt),
              IsOk());
  EXPECT_EQ(store_->Find(KeyOf(1))->created, now_);
}

TEST_F(CommitTest, LargeArtifactIsAFileWithExactlyItsBytes) {
  const std::string bytes = Noise(5000, 1);
  CommitArtifact(*store_, 1, bytes);
  EXPECT_EQ(*ReadWholeFile(ArtifactPath(Sha256Of(bytes)), 1 << 20), bytes);
}

TEST_F(CommitTest, SmallArtifactIsNoFile) {
  CommitArtifact(*store_, 1, "small");
  EXPECT_TRUE(FilesIn(directory_ / "data/artifacts").empty());
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, Sha256Of("small")), "small");
}

TEST_F(CommitTest, EmptyArtifactIsKept) {
  CommitArtifact(*store_, 1, "");
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, Sha256Of("")), "");
}

TEST_F(CommitTest, RecordFileHoldsTheEntryAndInlineBytes) {
  const Key key = KeyOf(1);
  ASSERT_THAT(store_->RecordInBundle("bert", {&key, 1}), IsOk());
  CommitArtifact(*store_, 1, "small");
  const auto small = DecodeEntryFile(*ReadWholeFile(RecordPath(KeyOf(1)), 1 << 20));
  ASSERT_THAT(small, IsOk());
  EXPECT_EQ(small->entry.key, KeyOf(1));
  EXPECT_EQ(small->bundles, std::vector<std::string>{"bert"});
  EXPECT_EQ(small->inline_artifact, "small");
  CommitArtifact(*store_, 2, Noise(5000, 1));
  const auto large = DecodeEntryFile(*ReadWholeFile(RecordPath(KeyOf(2)), 1 << 20));
  ASSERT_THAT(large, IsOk());
  EXPECT_EQ(large->inline_artifact, absl::nullopt);
}

TEST_F(CommitTest, StepsComeInTheOrderThatMakesACrashHarmless) {
  ASSERT_THAT(
      store_->CommitReady(ReadyEntry(1, Noise(5000, 1)), StageArtifact(*store_, Noise(5000, 1)),
                          StageCompressed(*store_, ContentKind::kLog, "log")),
      IsOk());
  EXPECT_EQ(steps_, (std::vector<std::string>{"log placed", "artifact placed", "record written",
                                              "committed"}));
}

TEST_F(CommitTest, FirstWriterWins) {
  EXPECT_TRUE(CommitArtifact(*store_, 1, "first").accepted);
  const Store::Committed second = CommitArtifact(*store_, 1, "second");
  EXPECT_FALSE(second.accepted);
  EXPECT_EQ(second.entry.ready()->digest, Sha256Of("first"));
  EXPECT_EQ(store_->Find(KeyOf(1))->ready()->digest, Sha256Of("first"));
  EXPECT_THAT(store_->OpenContent(ContentKind::kArtifact, Sha256Of("second")),
              HasCode(absl::StatusCode::kNotFound));
  EXPECT_EQ(store_->Count()->entries_ready, 1u);
}

TEST_F(CommitTest, RefusedArtifactLeavesNoFile) {
  CommitArtifact(*store_, 1, Noise(5000, 1));
  EXPECT_FALSE(CommitArtifact(*store_, 1, Noise(5000, 2)).accepted);
  EXPECT_EQ(FilesIn(directory_ / "data/artifacts").size(), 1u);
  EXPECT_TRUE(FilesIn(directory_ / "data/tmp").empty());
}

TEST_F(CommitTest, ArtifactThatDiffersFromTheAnnouncedIsRefused) {
  EXPECT_THAT(store_->CommitReady(ReadyEntry(1, "announced"), StageArtifact(*store_, "delivered"),
                                  absl::nullopt),
              HasCode(absl::StatusCode::kInvalidArgument));
  Entry wrong_size = ReadyEntry(1, "artifact");
  wrong_size.state = Artifact{Sha256Of("artifact"), 7};
  EXPECT_THAT(store_->CommitReady(wrong_size, StageArtifact(*store_, "artifact"), absl::nullopt),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(store_->Find(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(CommitTest, ContentOfAnotherKindIsRefused) {
  const Entry entry = ReadyEntry(1, "artifact");
  EXPECT_THAT(store_->CommitReady(entry, StageCompressed(*store_, ContentKind::kLog, "artifact"),
                                  absl::nullopt),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(store_->CommitReady(entry, StageArtifact(*store_, "artifact"),
                                  StageCompressed(*store_, ContentKind::kGraph, "log")),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      store_->CommitReady(FailedEntry(1, now_), StageArtifact(*store_, "artifact"), absl::nullopt),
      HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(store_->CommitFailed(entry, absl::nullopt),
              HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_F(CommitTest, TextThatCouldNotBeReadBackIsRefused) {
  Entry entry = ReadyEntry(1, "artifact");
  entry.material.options.push_back("--flag=\xff");
  EXPECT_THAT(store_->CommitReady(entry, StageArtifact(*store_, "artifact"), absl::nullopt),
              HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_F(CommitTest, EntriesShareOneArtifact) {
  const std::string bytes = Noise(5000, 1);
  CommitArtifact(*store_, 1, bytes);
  const auto written = std::filesystem::last_write_time(ArtifactPath(Sha256Of(bytes)));
  std::filesystem::last_write_time(ArtifactPath(Sha256Of(bytes)), written - std::chrono::hours(1));
  EXPECT_TRUE(CommitArtifact(*store_, 2, bytes).accepted);
  // Not written again.
  EXPECT_EQ(std::filesystem::last_write_time(ArtifactPath(Sha256Of(bytes))),
            written - std::chrono::hours(1));
  EXPECT_TRUE(FilesIn(directory_ / "data/tmp").empty());
  EXPECT_EQ(store_->Count()->entries_ready, 2u);
  EXPECT_EQ(store_->Count()->artifacts, 1u);
  EXPECT_EQ(store_->Count()->artifact_bytes, bytes.size());
}

TEST_F(CommitTest, OrphanOfACrashIsReplaced) {
  const std::string bytes = Noise(5000, 1);
  const std::string path = ArtifactPath(Sha256Of(bytes));
  ASSERT_THAT(CreateDirectories(std::filesystem::path(path).parent_path()), IsOk());
  ASSERT_THAT(AtomicFile::Create(path)->Commit(Durability::kBuffered), IsOk());  // Empty.
  CommitArtifact(*store_, 1, bytes);
  EXPECT_EQ(ContentOf(*store_, ContentKind::kArtifact, Sha256Of(bytes)), bytes);
}

TEST_F(CommitTest, LogIsKeptWithItsEntry) {
  ASSERT_THAT(store_->CommitReady(ReadyEntry(1, "artifact"), StageArtifact(*store_, "artifact"),
                                  StageCompressed(*store_, ContentKind::kLog, "compiled well")),
              IsOk());
  EXPECT_EQ(ContentOf(*store_, ContentKind::kLog, store_->Find(KeyOf(1))->log), "compiled well");
}

TEST_F(CommitTest, FailureIsFoundUntilItIsForgotten) {
  ASSERT_THAT(store_->CommitFailed(FailedEntry(1, now_ + absl::Hours(24)), absl::nullopt), IsOk());
  now_ += absl::Hours(24) - absl::Milliseconds(1);
  const absl::StatusOr<Entry> entry = store_->Find(KeyOf(1));
  ASSERT_THAT(entry, IsOk());
  EXPECT_EQ(entry->failed()->exit_code, 70);
  EXPECT_EQ(entry->failed()->failure_class, FailureClass::kDeterministic);
  EXPECT_EQ(entry->failed()->attempts, 2u);
  EXPECT_EQ(store_->Count()->entries_failed, 1u);

  now_ += absl::Milliseconds(1);
  EXPECT_THAT(store_->Find(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
  const Key key = KeyOf(1);
  EXPECT_FALSE(store_->Find(absl::Span<const Key>(&key, 1))->front().has_value());
  EXPECT_THAT(store_->ResolvePrefix(KeyOf(1).Hex()), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->ForgetFailure(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
  EXPECT_EQ(store_->Count()->entries_failed, 0u);
  Reopen();
  EXPECT_THAT(store_->Find(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(CommitTest, FailureThatIsNotRememberedIsNotFound) {
  ASSERT_THAT(store_->CommitFailed(FailedEntry(1, absl::InfinitePast()), absl::nullopt), IsOk());
  EXPECT_THAT(store_->Find(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
  EXPECT_EQ(store_->Count()->entries_failed, 0u);
}

TEST_F(CommitTest, LaterFailureReplacesAnEarlierOne) {
  ASSERT_THAT(store_->CommitFailed(FailedEntry(1, now_ + absl::Hours(1)), absl::nullopt), IsOk());
  ASSERT_THAT(store_->CommitFailed(FailedEntry(1, now_ + absl::Hours(2)), absl::nullopt), IsOk());
  EXPECT_EQ(store_->Count()->entries_failed, 1u);
  now_ += absl::Minutes(90);
  EXPECT_THAT(store_->Find(KeyOf(1)), IsOk());
}

TEST_F(CommitTest, FailureNeverReplacesAnArtifact) {
  CommitArtifact(*store_, 1, "artifact");
  ASSERT_THAT(store_->CommitFailed(FailedEntry(1, now_ + absl::Hours(1)), absl::nullopt), IsOk());
  EXPECT_NE(store_->Find(KeyOf(1))->ready(), nullptr);
  EXPECT_EQ(store_->Count()->entries_failed, 0u);
}

TEST_F(CommitTest, ArtifactReplacesAFailure) {
  ASSERT_THAT(store_->CommitFailed(FailedEntry(1, now_ + absl::Hours(1)), absl::nullopt), IsOk());
  EXPECT_TRUE(CommitArtifact(*store_, 1, "artifact").accepted);
  EXPECT_NE(store_->Find(KeyOf(1))->ready(), nullptr);
  EXPECT_EQ(store_->Count()->entries_failed, 0u);
  EXPECT_EQ(store_->Count()->entries_ready, 1u);
  now_ += absl::Hours(2);
  // The failure's expiry takes nothing with it.
  ASSERT_THAT(store_->CommitFailed(FailedEntry(2, now_ + absl::Hours(1)), absl::nullopt), IsOk());
  EXPECT_NE(store_->Find(KeyOf(1))->ready(), nullptr);
}

TEST_F(CommitTest, ForgottenFailureIsNotFound) {
  ASSERT_THAT(store_->CommitFailed(FailedEntry(1, now_ + absl::Hours(1)), absl::nullopt), IsOk());
  ASSERT_THAT(store_->ForgetFailure(KeyOf(1)), IsOk());
  EXPECT_THAT(store_->Find(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->ForgetFailure(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(CommitTest, ArtifactIsNoFailureToForget) {
  CommitArtifact(*store_, 1, "artifact");
  EXPECT_THAT(store_->ForgetFailure(KeyOf(1)), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->Find(KeyOf(1)), IsOk());
}

TEST_F(CommitTest, CompilersOutputNeedNotBeUtf8) {
  Entry entry = FailedEntry(1, now_ + absl::Hours(1));
  Failure failure = *entry.failed();
  failure.log_tail = "caf\xe9 \xf0\x9f\x98\x80";
  entry.state = failure;
  ASSERT_THAT(store_->CommitFailed(entry, absl::nullopt), IsOk());
  EXPECT_EQ(store_->Find(KeyOf(1))->failed()->log_tail, "caf? \xf0\x9f\x98\x80");
}

TEST_F(CommitTest, CommitTakesTheKeyOutOfTheQueue) {
  for (int number = 1; number <= 4; ++number) {
    ASSERT_THAT(store_->Enqueue(QueuedFor(number, "graph"),
                                StageCompressed(*store_, ContentKind::kGraph, "graph")),
                IsOk());
  }
  CommitArtifact(*store_, 1, "artifact");
  EXPECT_EQ(store_->LoadQueue()->size(), 3u);
  ASSERT_THAT(store_->CommitFailed(FailedEntry(2, now_ + absl::Hours(1)), absl::nullopt), IsOk());
  EXPECT_EQ(store_->LoadQueue()->size(), 2u);
  ASSERT_THAT(store_->CommitFailed(FailedEntry(3, absl::InfinitePast()), absl::nullopt), IsOk());
  ASSERT_EQ(store_->LoadQueue()->size(), 1u);
  EXPECT_EQ(store_->LoadQueue()->front().key, KeyOf(4));
}

TEST_F(CommitTest, CommitThatLostTheRaceTakesTheKeyOutOfTheQueue) {
  CommitArtifact(*store_, 1, "first");
  ASSERT_THAT(store_->Enqueue(QueuedFor(1, "graph"),
                              StageCompressed(*store_, ContentKind::kGraph, "graph")),
              IsOk());
  EXPECT_FALSE(CommitArtifact(*store_, 1, "second").accepted);
  EXPECT_TRUE(store_->LoadQueue()->empty());
}

}  // namespace
}  // namespace neffcache
