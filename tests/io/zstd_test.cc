#include "io/zstd.h"

#include <algorithm>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/io/status_matchers.h"

namespace neffcache {
namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 40;

// Compresses badly, so that many output buffers are needed.
std::string Noise(size_t size) {
  std::mt19937 random(4711);
  std::string bytes(size, '\0');
  std::generate(bytes.begin(), bytes.end(), [&random] { return static_cast<char>(random()); });
  return bytes;
}

absl::StatusOr<std::string> DecompressInPieces(absl::string_view compressed, size_t piece,
                                               uint64_t limit) {
  ZstdDecompressor decompressor(limit);
  std::string out;
  while (!compressed.empty()) {
    const absl::Status status =
        decompressor.Write(compressed.substr(0, piece), [&out](absl::string_view bytes) {
          out.append(bytes.data(), bytes.size());
          return absl::OkStatus();
        });
    if (!status.ok()) return status;
    compressed.remove_prefix(std::min(piece, compressed.size()));
  }
  const absl::Status status = decompressor.Finish();
  if (!status.ok()) return status;
  return out;
}

TEST(ZstdTest, BytesComeBack) {
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string(5'000'000, 'a'), Noise(3'000'000)}) {
    EXPECT_EQ(*ZstdDecompress(ZstdCompress(bytes), bytes.size()), bytes);
  }
}

TEST(ZstdTest, PiecesOfAnySizeGiveTheSame) {
  const std::string bytes = Noise(300'000) + std::string(300'000, 'b');
  const std::string compressed = ZstdCompress(bytes);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{65'536}, size_t{1} << 20}) {
    EXPECT_EQ(*DecompressInPieces(compressed, piece, kNoLimit), bytes) << piece;
  }
}

TEST(ZstdTest, StreamIsCompressedInPieces) {
  ZstdCompressor compressor;
  std::string compressed;
  const auto append = [&compressed](absl::string_view piece) {
    compressed.append(piece.data(), piece.size());
    return absl::OkStatus();
  };
  const std::string bytes = Noise(1'000'000);
  ASSERT_THAT(compressor.Write(absl::string_view(bytes).substr(0, 400'000), append), IsOk());
  ASSERT_THAT(compressor.Write("", append), IsOk());
  ASSERT_THAT(compressor.Write(absl::string_view(bytes).substr(400'000), append), IsOk());
  ASSERT_THAT(compressor.Finish(append), IsOk());
  EXPECT_EQ(*ZstdDecompress(compressed, kNoLimit), bytes);
}

TEST(ZstdTest, OneByteMoreThanTheLimitIsRefused) {
  const std::string compressed = ZstdCompress(std::string(1'000'000, 'a'));
  EXPECT_THAT(ZstdDecompress(compressed, 1'000'000), IsOk());
  EXPECT_THAT(ZstdDecompress(compressed, 999'999), HasCode(absl::StatusCode::kResourceExhausted));
}

TEST(ZstdTest, EveryTruncationIsDataLoss) {
  const std::string compressed = ZstdCompress("some text that is long enough to be cut anywhere");
  for (size_t size = 0; size < compressed.size(); ++size) {
    EXPECT_THAT(ZstdDecompress(compressed.substr(0, size), kNoLimit),
                HasCode(absl::StatusCode::kDataLoss))
        << size;
  }
}

TEST(ZstdTest, FlippedBytesAreNeverTakenForOtherContent) {
  const std::string bytes = "some text that is long enough to be damaged in several places";
  const std::string compressed = ZstdCompress(bytes);
  for (size_t i = 0; i < compressed.size(); ++i) {
    std::string damaged = compressed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    const absl::StatusOr<std::string> out = ZstdDecompress(damaged, 1 << 20);
    // A flip in the header may change nothing but how much memory is wanted.
    if (out.ok()) {
      EXPECT_EQ(*out, bytes) << i;
    }
  }
}

TEST(ZstdTest, OtherBytesAreDataLoss) {
  EXPECT_THAT(ZstdDecompress("this is not zstd", kNoLimit), HasCode(absl::StatusCode::kDataLoss));
}

TEST(ZstdTest, GarbageAfterTheFrameIsDataLoss) {
  EXPECT_THAT(ZstdDecompress(ZstdCompress("text") + "garbage", kNoLimit),
              HasCode(absl::StatusCode::kDataLoss));
}

TEST(ZstdTest, FramesInARowAreOneStream) {
  EXPECT_EQ(*ZstdDecompress(ZstdCompress("one ") + ZstdCompress("two"), kNoLimit), "one two");
}

TEST(ZstdTest, ErrorOfTheSinkEndsTheWork) {
  const auto refuse = [](absl::string_view) { return absl::UnavailableError("full"); };
  ZstdDecompressor decompressor(kNoLimit);
  EXPECT_THAT(decompressor.Write(ZstdCompress("text"), refuse),
              HasCode(absl::StatusCode::kUnavailable));
  ZstdCompressor compressor;
  ASSERT_THAT(compressor.Write("text", refuse), IsOk());  // Nothing comes out yet.
  EXPECT_THAT(compressor.Finish(refuse), HasCode(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace neffcache
