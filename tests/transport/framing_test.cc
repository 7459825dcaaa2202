#include "transport/framing.h"

#include <gmock/gmock.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "neffcache/v1/cache.pb.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

grpc::ByteBuffer Frame(const std::string& bytes) {
  auto owner = std::make_shared<const std::string>(bytes);
  return FramePiece(*owner, owner);
}

grpc::ByteBuffer Raw(const std::vector<std::string>& parts) {
  std::vector<grpc::Slice> slices(parts.begin(), parts.end());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<std::string> Read(const grpc::ByteBuffer& message) {
  std::string data;
  const absl::Status read = ReadPiece(message, [&](absl::string_view part) {
    data.append(part.data(), part.size());
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return data;
}

TEST(FramingTest, AFramedPieceIsTheProtobufMessage) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, kPieceSize}) {
    const std::string bytes(size, 'x');
    grpc::ByteBuffer framed = Frame(bytes);
    grpc::ProtoBufferReader reader(&framed);
    v1::FetchResponse message;
    ASSERT_TRUE(message.ParseFromZeroCopyStream(&reader));
    EXPECT_EQ(message.data(), bytes);
  }
}

TEST(FramingTest, AProtobufMessageReadsAsItsData) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{300}, kPieceSize}) {
    v1::FetchResponse message;
    message.set_data(std::string(size, 'y'));
    EXPECT_THAT(Read(Raw({message.SerializeAsString()})).value(), message.data());
  }
}

TEST(FramingTest, APieceMayBeCutAnywhere) {
  v1::FetchResponse message;
  message.set_data(std::string(200, 'z'));
  const std::string bytes = message.SerializeAsString();
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(Read(Raw({bytes.substr(0, cut), bytes.substr(cut)})).value(), message.data()) << cut;
  }
}

TEST(FramingTest, WhatIsNotExactlyOneFieldIsRefused) {
  const std::vector<std::string> malformed = {
      std::string("\x0a"),  // No length.
      std::string("\x0a\x05"
                  "abc"),  // Short.
      std::string("\x0a\x02"
                  "abc"),  // Long.
      std::string("\x12\x01"
                  "a"),         // Field 2.
      std::string("\x08\x01"),  // A number.
      std::string("\x0a\x01"
                  "a\x0a\x01"
                  "b"),                             // Twice.
      std::string("\x0a\xff\xff\xff\xff\xff\x7f"),  // Endless length.
  };
  for (const std::string& bytes : malformed) {
    EXPECT_EQ(Read(Raw({bytes})).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(FramingTest, TheSinksErrorEndsTheReading) {
  const absl::Status read =
      ReadPiece(Frame("abc"), [](absl::string_view) { return absl::DataLossError("full"); });
  EXPECT_EQ(read, absl::DataLossError("full"));
}

TEST(FramingTest, TheOwnerLivesUntilTheMessageIsGone) {
  auto owner = std::make_shared<const std::string>("abc");
  const std::weak_ptr<const std::string> watched = owner;
  {
    const grpc::ByteBuffer framed = FramePiece(*owner, owner);
    owner.reset();
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace neffcache
