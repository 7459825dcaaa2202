#include <filesystem>
#include <fstream>

#include "tests/server/rpc/server_fixture.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

class FetchTest : public ServerTest {
 protected:
  // Empties `data_` first; checks each piece.
  grpc::Status Fetch(v1::FetchRequest::Kind kind, const Digest& digest, uint64_t offset = 0) {
    data_.clear();
    v1::FetchRequest request;
    request.set_kind(kind);
    request.set_digest(std::string(digest.bytes()));
    request.set_offset(offset);
    request.set_of_compile(of_compile_);
    request.set_recheck(recheck_);
    auto context = Call();
    auto reader = cache_->Fetch(context.get(), request);
    v1::FetchResponse piece;
    while (reader->Read(&piece)) {
      EXPECT_GT(piece.data().size(), 0u);
      EXPECT_LE(piece.data().size(), kPieceSize);
      data_ += piece.data();
    }
    return reader->Finish();
  }
  grpc::Status FetchArtifact(const Digest& digest, uint64_t offset = 0) {
    return Fetch(v1::FetchRequest::KIND_ARTIFACT, digest, offset);
  }

  std::string FileOf(const Digest& artifact) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory_)) {
      if (file.path().filename() == artifact.Hex()) return file.path().string();
    }
    return "";
  }

  // Behind the store's back.
  void FlipABit(const std::string& artifact) {
    const std::string file = FileOf(Sha256Of(artifact));
    std::filesystem::permissions(file, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(5);
    damaged.put(static_cast<char>(artifact[5] ^ 1));
    ASSERT_TRUE(damaged.flush());
  }

  bool of_compile_ = false;
  bool recheck_ = false;
  std::string data_;
};

TEST_F(FetchTest, AnArtifactIsAHitWhenItsDownloadBeginsUnlessItsCompileCounted) {
  const std::string artifact = Noise(3 * kPieceSize);
  Commit(MaterialOf("graph"), artifact, absl::Seconds(90));
  ASSERT_TRUE(FetchArtifact(Sha256Of(artifact)).ok());
  ASSERT_TRUE(FetchArtifact(Sha256Of(artifact), kPieceSize).ok());
  of_compile_ = true;
  ASSERT_TRUE(FetchArtifact(Sha256Of(artifact)).ok());
  EXPECT_EQ(Stats().lookups(), 1u);
  EXPECT_EQ(Stats().hits(), 1u);
  EXPECT_EQ(Stats().compile_time_saved_ms(), 90'000);

  of_compile_ = false;
  EXPECT_THAT(FetchArtifact(Sha256Of("unknown")), FailsWith(grpc::NOT_FOUND, ""));
  EXPECT_EQ(Stats().lookups(), 2u);
  EXPECT_EQ(Stats().hits(), 1u);
}

TEST_F(FetchTest, AnArtifactOfAnySizeArrivesWhole) {
  for (const size_t size : {size_t{1}, size_t{64} << 10, (size_t{64} << 10) + 1, kPieceSize,
                            kPieceSize + 1, 5 * kPieceSize + 12345}) {
    const std::string artifact = Noise(size, size);
    Commit(MaterialOf(artifact), artifact);
    ASSERT_TRUE(FetchArtifact(Sha256Of(artifact)).ok()) << size;
    EXPECT_EQ(data_, artifact) << size;
  }
}

TEST_F(FetchTest, ADownloadIsResumedWhereItStopped) {
  for (const std::string& artifact : {Noise(1000), Noise(3 * kPieceSize + 7)}) {
    Commit(MaterialOf(artifact), artifact);
    for (const uint64_t offset :
         {uint64_t{1}, uint64_t{artifact.size() / 2}, uint64_t{artifact.size()}}) {
      ASSERT_TRUE(FetchArtifact(Sha256Of(artifact), offset).ok());
      EXPECT_EQ(data_, artifact.substr(offset)) << offset;
    }
    EXPECT_THAT(FetchArtifact(Sha256Of(artifact), artifact.size() + 1),
                FailsWith(grpc::OUT_OF_RANGE, "past the end"));
  }
}

TEST_F(FetchTest, WhatIsNotThereIsNotFound) {
  EXPECT_THAT(FetchArtifact(Sha256Of("nothing")), FailsWith(grpc::NOT_FOUND, ""));
  EXPECT_THAT(Fetch(v1::FetchRequest::KIND_LOG, Sha256Of("nothing")),
              FailsWith(grpc::NOT_FOUND, ""));
}

TEST_F(FetchTest, BrokenRequestsNameTheField) {
  EXPECT_THAT(Fetch(v1::FetchRequest::KIND_UNSPECIFIED, Sha256Of("x")),
              FailsWith(grpc::INVALID_ARGUMENT, "kind"));
  auto context = Call();
  v1::FetchRequest request;
  request.set_kind(v1::FetchRequest::KIND_ARTIFACT);
  request.set_digest("short");
  auto reader = cache_->Fetch(context.get(), request);
  v1::FetchResponse piece;
  EXPECT_FALSE(reader->Read(&piece));
  EXPECT_THAT(reader->Finish(), FailsWith(grpc::INVALID_ARGUMENT, "digest: 5 bytes"));
}

TEST_F(FetchTest, LogsComeCompressedAsTheyAreKept) {
  Entry entry;
  entry.material = MaterialOf("graph");
  entry.key = ComputeKey(entry.material);
  entry.state = Artifact{Sha256Of("artifact"), 8};
  const std::string log = "compiling...\ndone\n";
  entry.log = Sha256Of(log);
  ASSERT_TRUE(store_
                  ->CommitReady(entry, Stage(ContentKind::kArtifact, "artifact"),
                                Stage(ContentKind::kLog, log))
                  .ok());
  ASSERT_TRUE(Fetch(v1::FetchRequest::KIND_LOG, Sha256Of(log)).ok());
  EXPECT_EQ(ZstdDecompress(data_, 1 << 20).value(), log);
}

TEST_F(FetchTest, ATruncatedFileIsDataLossAndNeverServedAgain) {
  const KeyMaterial material = MaterialOf("graph");
  const std::string artifact = Noise(2 * kPieceSize);
  const Entry entry = Commit(material, artifact);
  const std::string file = FileOf(Sha256Of(artifact));
  ASSERT_NE(file, "");
  std::filesystem::permissions(file, std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::filesystem::resize_file(file, kPieceSize + 5);
  EXPECT_EQ(FetchArtifact(Sha256Of(artifact)).error_code(), grpc::DATA_LOSS);
  EXPECT_TRUE(absl::IsNotFound(store_->Find(entry.key).status()));
  const grpc::StatusCode again = FetchArtifact(Sha256Of(artifact)).error_code();
  EXPECT_TRUE(again == grpc::DATA_LOSS || again == grpc::NOT_FOUND) << again;
  EXPECT_EQ(Stats().damaged(), 1u);
}

TEST_F(FetchTest, AFlippedBitIsFoundBeforeTheLastPieceAndItsKeyCompilesAgain) {
  const KeyMaterial material = MaterialOf("graph");
  const std::string artifact = Noise(2 * kPieceSize);
  const Entry entry = Commit(material, artifact);
  FlipABit(artifact);
  EXPECT_EQ(FetchArtifact(Sha256Of(artifact)).error_code(), grpc::DATA_LOSS);
  EXPECT_LT(data_.size(), artifact.size());
  EXPECT_TRUE(absl::IsNotFound(store_->Find(entry.key).status()));
  EXPECT_EQ(Stats().damaged(), 1u);
}

TEST_F(FetchTest, ARecheckFindsWhatRottedAfterItWasFoundGood) {
  const std::string artifact = Noise(2 * kPieceSize);
  const Entry entry = Commit(MaterialOf("graph"), artifact);
  ASSERT_TRUE(FetchArtifact(Sha256Of(artifact)).ok());
  recheck_ = true;
  ASSERT_TRUE(FetchArtifact(Sha256Of(artifact)).ok());
  EXPECT_TRUE(data_ == artifact);
  FlipABit(artifact);
  EXPECT_EQ(FetchArtifact(Sha256Of(artifact)).error_code(), grpc::DATA_LOSS);
  EXPECT_LT(data_.size(), artifact.size());
  EXPECT_TRUE(absl::IsNotFound(store_->Find(entry.key).status()));
  EXPECT_EQ(Stats().damaged(), 1u);
}

TEST_F(FetchTest, AMissingFileIsDataLossAndItsKeyCompilesAgain) {
  const KeyMaterial material = MaterialOf("graph");
  const std::string artifact = Noise(2 * kPieceSize);
  const Entry entry = Commit(material, artifact);
  std::filesystem::remove(FileOf(Sha256Of(artifact)));
  EXPECT_EQ(FetchArtifact(Sha256Of(artifact)).error_code(), grpc::DATA_LOSS);
  EXPECT_TRUE(absl::IsNotFound(store_->Find(entry.key).status()));
}

TEST_F(FetchTest, AClientThatLeavesInMidStreamDisturbsNobody) {
  const std::string artifact = Noise(20 * kPieceSize);
  Commit(MaterialOf("graph"), artifact);
  v1::FetchRequest request;
  request.set_kind(v1::FetchRequest::KIND_ARTIFACT);
  request.set_digest(std::string(Sha256Of(artifact).bytes()));
  for (int i = 0; i < 5; ++i) {
    auto context = Call();
    auto reader = cache_->Fetch(context.get(), request);
    v1::FetchResponse piece;
    ASSERT_TRUE(reader->Read(&piece));
    context->TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::CANCELLED);
  }
  ASSERT_TRUE(FetchArtifact(Sha256Of(artifact)).ok());
  EXPECT_TRUE(data_ == artifact);
}

TEST_F(FetchTest, ManyClientsFetchTheSameArtifactBeyondTheMemoryBudget) {
  ServiceLimits limits;
  limits.chunk_budget_bytes = 2 * kPieceSize;
  StartServer(limits);
  const std::string artifact = Noise(3 * kPieceSize + 1);
  Commit(MaterialOf("graph"), artifact);
  std::vector<std::string> got(16);
  {
    std::vector<std::jthread> clients;
    for (std::string& mine : got) {
      clients.emplace_back([&] {
        v1::FetchRequest request;
        request.set_kind(v1::FetchRequest::KIND_ARTIFACT);
        request.set_digest(std::string(Sha256Of(artifact).bytes()));
        auto context = Call();
        auto reader = cache_->Fetch(context.get(), request);
        v1::FetchResponse piece;
        while (reader->Read(&piece)) mine += piece.data();
        if (!reader->Finish().ok()) mine = "failed";
      });
    }
  }
  for (const std::string& mine : got) EXPECT_TRUE(mine == artifact);
  EXPECT_EQ(Stats().bytes_served(), 16 * artifact.size());
}

}  // namespace
}  // namespace neffcache
