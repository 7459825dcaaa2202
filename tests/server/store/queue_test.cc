#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/zstd.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

class QueueTest : public StoreTest {
 protected:
  absl::Status Enqueue(int number, absl::string_view graph = "graph") {
    return store_->Enqueue(QueuedFor(number, graph),
                           StageCompressed(*store_, ContentKind::kGraph, graph));
  }
};

TEST_F(QueueTest, QueuedCompileComesBackAsItWas) {
  QueuedCompile given = QueuedFor(1, "graph");
  given.purpose = Purpose::kRebuild;
  given.attempts = 2;
  ASSERT_THAT(store_->Enqueue(given, StageCompressed(*store_, ContentKind::kGraph, "graph")),
              IsOk());
  Reopen();
  const auto queue = store_->LoadQueue();
  ASSERT_THAT(queue, IsOk());
  ASSERT_EQ(queue->size(), 1u);
  const QueuedCompile& found = queue->front();
  EXPECT_EQ(found.key, given.key);
  EXPECT_EQ(found.material, given.material);
  EXPECT_EQ(found.graph.digest, given.graph.digest);
  EXPECT_EQ(found.graph.size, given.graph.size);
  EXPECT_EQ(found.graph.name, given.graph.name);
  EXPECT_EQ(found.graph.instructions, given.graph.instructions);
  EXPECT_EQ(found.purpose, given.purpose);
  EXPECT_EQ(found.queued, given.queued);
  EXPECT_EQ(found.attempts, given.attempts);
}

TEST_F(QueueTest, QueueIsLoadedOldestFirst) {
  for (const int number : {5, 1, 4, 2, 3}) ASSERT_THAT(Enqueue(number), IsOk());
  const auto queue = store_->LoadQueue();
  ASSERT_EQ(queue->size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ((*queue)[i].key, KeyOf(i + 1));
}

TEST_F(QueueTest, GraphIsKeptCompressedUnderItsOwnDigest) {
  ASSERT_THAT(Enqueue(1), IsOk());
  const std::string path = absl::StrCat(ArtifactPath(Sha256Of("graph")), ".zst");
  EXPECT_EQ(*ZstdDecompress(*ReadWholeFile(path, 1 << 20), 1 << 20), "graph");
  EXPECT_TRUE(FilesIn(directory_ / "data/tmp").empty());
}

TEST_F(QueueTest, GraphIsOnDiskBeforeItsCompileIsQueued) {
  ASSERT_THAT(Enqueue(1), IsOk());
  EXPECT_EQ(steps_, (std::vector<std::string>{"graph placed", "queued"}));
}

TEST_F(QueueTest, KeptGraphNeedNotComeAgain) {
  ASSERT_THAT(Enqueue(1), IsOk());
  EXPECT_THAT(store_->Enqueue(QueuedFor(2, "graph"), absl::nullopt), IsOk());
  EXPECT_THAT(store_->Enqueue(QueuedFor(3, "another"), absl::nullopt),
              HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(store_->LoadQueue()->size(), 2u);
}

TEST_F(QueueTest, OtherContentThanTheGraphIsRefused) {
  EXPECT_THAT(store_->Enqueue(QueuedFor(1, "graph"),
                              StageCompressed(*store_, ContentKind::kGraph, "another")),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      store_->Enqueue(QueuedFor(1, "graph"), StageCompressed(*store_, ContentKind::kLog, "graph")),
      HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(store_->LoadQueue()->empty());
}

TEST_F(QueueTest, AttemptsAreNoted) {
  ASSERT_THAT(Enqueue(1), IsOk());
  QueuedCompile compile = QueuedFor(1, "graph");
  compile.attempts = 3;
  ASSERT_THAT(store_->UpdateQueued(compile), IsOk());
  Reopen();
  EXPECT_EQ(store_->LoadQueue()->front().attempts, 3u);
}

TEST_F(QueueTest, FinishedCompileIsNotQueuedByALateUpdate) {
  ASSERT_THAT(Enqueue(1), IsOk());
  CommitArtifact(*store_, 1, "artifact");
  EXPECT_THAT(store_->UpdateQueued(QueuedFor(1, "graph")), HasCode(absl::StatusCode::kNotFound));
  EXPECT_TRUE(store_->LoadQueue()->empty());
}

TEST_F(QueueTest, DequeuedCompileIsGone) {
  ASSERT_THAT(Enqueue(1), IsOk());
  ASSERT_THAT(store_->Dequeue(KeyOf(1)), IsOk());
  ASSERT_THAT(store_->Dequeue(KeyOf(1)), IsOk());
  EXPECT_TRUE(store_->LoadQueue()->empty());
}

TEST_F(QueueTest, GraphIsFoundByFingerprintAlsoAfterItsCompile) {
  ASSERT_THAT(Enqueue(1), IsOk());
  CommitArtifact(*store_, 1, "artifact");
  Reopen();
  const Fingerprint fingerprint = QueuedFor(1, "graph").material.fingerprint;
  const auto graph = store_->FindGraph(fingerprint);
  ASSERT_THAT(graph, IsOk());
  EXPECT_EQ(graph->digest, Sha256Of("graph"));
  EXPECT_EQ(graph->size, 5u);
  EXPECT_EQ(graph->name, "jit_train_step");
  EXPECT_EQ(graph->instructions, 678u);
}

TEST_F(QueueTest, FingerprintUnderAnotherTagIsNotFound) {
  ASSERT_THAT(Enqueue(1), IsOk());
  Fingerprint fingerprint = QueuedFor(1, "graph").material.fingerprint;
  fingerprint.tag = "neffcache-raw-1";
  EXPECT_THAT(store_->FindGraph(fingerprint), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(QueueTest, GraphWhoseFileIsGoneIsNotFound) {
  ASSERT_THAT(Enqueue(1), IsOk());
  std::filesystem::remove(absl::StrCat(ArtifactPath(Sha256Of("graph")), ".zst"));
  EXPECT_THAT(store_->FindGraph(QueuedFor(1, "graph").material.fingerprint),
              HasCode(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace neffcache
