#include "transport/status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace neffcache {

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

absl::Status FromGrpc(const grpc::Status& status, absl::string_view doing) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat(doing, ": ", status.error_message()));
}

}  // namespace neffcache
