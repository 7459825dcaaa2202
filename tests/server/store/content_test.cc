#include "server/store/content.h"

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "io/file.h"
#include "io/zstd.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

using ContentTest = StoreTest;

TEST_F(ContentTest, StagedContentKnowsItsDigestAndSize) {
  for (const std::string& bytes : {std::string(), std::string("small"), Noise(5000, 1)}) {
    const StagedContent staged = StageArtifact(*store_, bytes);
    EXPECT_EQ(staged.digest(), Sha256Of(bytes));
    EXPECT_EQ(staged.size(), bytes.size());
    EXPECT_EQ(staged.kind(), ContentKind::kArtifact);
    EXPECT_EQ(staged.uncompressed_path(), "");
  }
}

TEST_F(ContentTest, SmallArtifactsStayInMemoryAndLargeOnesDoNot) {
  const StagedContent small = StageArtifact(*store_, std::string(kInlineLimit, 'x'));
  EXPECT_TRUE(FilesIn(directory_ / "data/tmp").empty());
  const StagedContent large = StageArtifact(*store_, std::string(kInlineLimit + 1, 'x'));
  EXPECT_EQ(FilesIn(directory_ / "data/tmp").size(), 1u);
}

TEST_F(ContentTest, DroppedContentLeavesNothing) {
  {
    ContentWriter unfinished = store_->Stage(ContentKind::kArtifact).value();
    ASSERT_THAT(unfinished.Write(Noise(5000, 1)), IsOk());
    const StagedContent staged = StageArtifact(*store_, Noise(5000, 2));
    const StagedContent graph = StageCompressed(*store_, ContentKind::kGraph, "graph");
    EXPECT_EQ(FilesIn(directory_ / "data/tmp").size(), 4u);
  }
  EXPECT_TRUE(FilesIn(directory_ / "data/tmp").empty());
}

TEST_F(ContentTest, GraphIsHashedUncompressedAndCanBeLookedInto) {
  const std::string graph = Noise(300'000, 1) + std::string(300'000, 'g');
  StagedContent staged = StageCompressed(*store_, ContentKind::kGraph, graph);
  EXPECT_EQ(staged.digest(), Sha256Of(graph));
  EXPECT_EQ(staged.size(), graph.size());
  EXPECT_EQ(*ReadWholeFile(staged.uncompressed_path(), 1 << 20), graph);
  const std::string path = staged.uncompressed_path();
  staged.ReleaseUncompressed();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(staged.uncompressed_path(), "");
}

TEST_F(ContentTest, LogIsHashedUncompressed) {
  const StagedContent staged = StageCompressed(*store_, ContentKind::kLog, "a log");
  EXPECT_EQ(staged.digest(), Sha256Of("a log"));
  EXPECT_EQ(staged.uncompressed_path(), "");
}

TEST_F(ContentTest, CutGraphIsDataLoss) {
  const std::string compressed = ZstdCompress(Noise(10'000, 1));
  ContentWriter writer = store_->Stage(ContentKind::kGraph).value();
  ASSERT_THAT(writer.Write(compressed.substr(0, compressed.size() - 1)), IsOk());
  EXPECT_THAT(std::move(writer).Finish(), HasCode(absl::StatusCode::kDataLoss));
  ContentWriter nothing = store_->Stage(ContentKind::kGraph).value();
  EXPECT_THAT(std::move(nothing).Finish(), HasCode(absl::StatusCode::kDataLoss));
}

TEST_F(ContentTest, DamagedGraphIsDataLossForGood) {
  ContentWriter writer = store_->Stage(ContentKind::kGraph).value();
  EXPECT_THAT(writer.Write("this is no zstd stream"), HasCode(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(writer.Write(ZstdCompress("graph")).ok());
  EXPECT_FALSE(std::move(writer).Finish().ok());
}

TEST_F(ContentTest, BombIsResourceExhausted) {
  ContentWriter writer = store_->Stage(ContentKind::kGraph).value();
  writer.SetLimit(1'000'000);
  EXPECT_THAT(writer.Write(ZstdCompress(std::string(2'000'000, '\0'))),
              HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_F(ContentTest, EndlessEmptyFramesAreResourceExhausted) {
  ContentWriter writer = store_->Stage(ContentKind::kGraph).value();
  writer.SetLimit(1000);
  std::string frames;
  while (frames.size() < 65'536) frames += ZstdCompress("");
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = writer.Write(frames);
  EXPECT_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_F(ContentTest, ArtifactOverItsLimitIsResourceExhausted) {
  ContentWriter writer = store_->Stage(ContentKind::kArtifact).value();
  writer.SetLimit(10);
  EXPECT_THAT(writer.Write("0123456789"), IsOk());
  EXPECT_THAT(writer.Write("x"), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_FALSE(std::move(writer).Finish().ok());
}

TEST_F(ContentTest, InlineAndFileAreReadFromAnyOffset) {
  for (const size_t size : {size_t{500}, size_t{5000}}) {
    const std::string bytes = Noise(size, 1);
    CommitArtifact(*store_, static_cast<int>(size), bytes);
    const auto reader = store_->OpenContent(ContentKind::kArtifact, Sha256Of(bytes));
    ASSERT_THAT(reader, IsOk());
    EXPECT_EQ(reader->stored_size(), size);
    EXPECT_EQ(reader->in_memory(), size <= kInlineLimit ? bytes : "");
    std::array<char, 100> out;
    EXPECT_EQ(*reader->ReadAt(size - 150, out), 100u);
    EXPECT_EQ(std::string(out.data(), 100), bytes.substr(size - 150, 100));
    EXPECT_EQ(*reader->ReadAt(size - 30, out), 30u);
    EXPECT_EQ(std::string(out.data(), 30), bytes.substr(size - 30));
    EXPECT_EQ(*reader->ReadAt(size, out), 0u);
    EXPECT_EQ(*reader->ReadAt(size + 1000, out), 0u);
  }
}

TEST_F(ContentTest, ReaderOutlivesTheArtifactAndTheStore) {
  const std::string bytes = Noise(5000, 1);
  CommitArtifact(*store_, 1, bytes);
  const auto reader = store_->OpenContent(ContentKind::kArtifact, Sha256Of(bytes));
  ASSERT_THAT(reader, IsOk());
  ASSERT_THAT(store_->Quarantine(Sha256Of(bytes)), IsOk());
  store_.reset();
  std::string out(bytes.size(), '\0');
  EXPECT_EQ(*reader->ReadAt(0, std::span<char>(out)), bytes.size());
  EXPECT_EQ(out, bytes);
}

TEST_F(ContentTest, UnknownContentIsNotFound) {
  for (const ContentKind kind : {ContentKind::kArtifact, ContentKind::kGraph, ContentKind::kLog}) {
    EXPECT_THAT(store_->OpenContent(kind, Sha256Of("never stored")),
                HasCode(absl::StatusCode::kNotFound));
  }
}

TEST_F(ContentTest, StagedContentIsNotVisible) {
  const StagedContent staged = StageArtifact(*store_, Noise(5000, 1));
  EXPECT_THAT(store_->OpenContent(ContentKind::kArtifact, staged.digest()),
              HasCode(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace neffcache
