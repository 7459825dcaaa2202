#include "transport/status.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"

namespace neffcache {
namespace {

// A message travels in the trailing metadata, percent-encoded; more than 8 KiB of that, and the
// peer sees RESOURCE_EXHAUSTED instead of our status.
constexpr size_t kMaxMessageBytes = 2048;

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string message(status.message().substr(0, kMaxMessageBytes));
  if (message.size() < status.message().size()) absl::StrAppend(&message, "...");
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message);
}

absl::Status FromGrpc(const grpc::Status& status, absl::string_view doing) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat(doing, ": ", status.error_message()));
}

}  // namespace neffcache
