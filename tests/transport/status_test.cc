#include "transport/status.h"

#include <gtest/gtest.h>

#include <string>

namespace neffcache {
namespace {

TEST(StatusTest, EveryCodeSurvivesTheRoundTrip) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    EXPECT_EQ(FromGrpc(ToGrpc(status), "doing it"),
              absl::Status(static_cast<absl::StatusCode>(code), "doing it: why"));
  }
  EXPECT_TRUE(FromGrpc(ToGrpc(absl::OkStatus()), "doing it").ok());
}

TEST(StatusTest, AMessageNeverOutgrowsTheTrailingMetadata) {
  const std::string message(100'000, '\n');  // Three bytes each on the wire.
  const grpc::Status status = ToGrpc(absl::InvalidArgumentError(message));
  EXPECT_LT(status.error_message().size() * 3, 8192u);
  EXPECT_EQ(status.error_message().substr(status.error_message().size() - 3), "...");
}

}  // namespace
}  // namespace neffcache
