#include "server/rpc/chunk_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "transport/limits.h"

namespace neffcache {
namespace {

class ChunkPoolTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Chunk> Get(uint64_t offset, ContentKind kind = ContentKind::kArtifact) {
    return *pool_.Get(kind, Sha256Of("content"), offset,
                      [&](std::span<char> space) -> absl::StatusOr<size_t> {
                        ++reads_;
                        std::memset(space.data(), static_cast<char>('a' + offset), space.size());
                        return space.size();
                      });
  }

  ChunkPool pool_{2 * kPieceSize};
  int reads_ = 0;
};

TEST_F(ChunkPoolTest, StreamsAtTheSamePlaceShareOneRead) {
  const auto first = Get(0);
  const auto second = Get(0);
  EXPECT_EQ(first, second);
  EXPECT_EQ(reads_, 1);
  EXPECT_NE(Get(1), first);
  EXPECT_EQ(reads_, 2);
}

TEST_F(ChunkPoolTest, AGraphAndAnArtifactOfTheSameDigestAreTwoContents) {
  const auto artifact = Get(0);
  EXPECT_NE(Get(0, ContentKind::kGraph), artifact);
}

TEST_F(ChunkPoolTest, AChunkGoesBackWithItsLastStreamAndIsReadAnew) {
  Get(0).reset();
  Get(0).reset();
  EXPECT_EQ(reads_, 2);
}

TEST_F(ChunkPoolTest, BeyondTheBudgetChunksAreSmall) {
  std::vector<std::shared_ptr<const Chunk>> chunks;
  for (uint64_t i = 0; i < 4; ++i) chunks.push_back(Get(i));
  EXPECT_EQ(chunks[0]->bytes().size(), kPieceSize);
  EXPECT_EQ(chunks[1]->bytes().size(), kPieceSize);
  EXPECT_EQ(chunks[2]->bytes().size(), ChunkPool::kSmallChunk);
  EXPECT_EQ(chunks[3]->bytes().size(), ChunkPool::kSmallChunk);
  chunks.clear();
  EXPECT_EQ(Get(9)->bytes().size(), kPieceSize);
}

TEST_F(ChunkPoolTest, AFailedReadGivesTheMemoryBack) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(absl::IsDataLoss(pool_
                                     .Get(ContentKind::kArtifact, Sha256Of("content"), 0,
                                          [](std::span<char>) -> absl::StatusOr<size_t> {
                                            return absl::DataLossError("damaged");
                                          })
                                     .status()));
  }
  EXPECT_EQ(Get(0)->bytes().size(), kPieceSize);
}

TEST(ChunkPoolLifeTest, ChunksOutliveTheirPool) {
  std::shared_ptr<const Chunk> chunk;
  {
    ChunkPool pool(kPieceSize);
    chunk = *pool.Get(ContentKind::kLog, Sha256Of("x"), 0,
                      [](std::span<char> space) -> absl::StatusOr<size_t> {
                        space[0] = 'x';
                        return 1;
                      });
  }
  EXPECT_EQ(chunk->bytes(), "x");
}

}  // namespace
}  // namespace neffcache
