#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// The bulk messages (FetchResponse and its like) have exactly one field, `bytes data = 1`, so that
// they can be framed and read without protobuf copying them.

// Frames `bytes` as such a message without copying: a tag and a length, then a slice that keeps
// `owner` alive until the transport has sent it. `bytes` must live as long as `owner`.
grpc::ByteBuffer FramePiece(absl::string_view bytes, std::shared_ptr<const void> owner);

// Gives the data of such a message to `sink`, in one or more parts, without copying.
// INVALID_ARGUMENT when the buffer is not exactly one such field.
absl::Status ReadPiece(const grpc::ByteBuffer& message,
                       absl::FunctionRef<absl::Status(absl::string_view)> sink);

}  // namespace neffcache
