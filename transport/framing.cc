#include "transport/framing.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "io/status_macros.h"

namespace neffcache {
namespace {

constexpr uint8_t kDataTag = 0x0a;  // Field 1, length-delimited.

void ReleaseOwner(void* owner) {
  delete static_cast<std::shared_ptr<const void>*>(owner);
}

}  // namespace

grpc::ByteBuffer FramePiece(absl::string_view bytes, std::shared_ptr<const void> owner) {
  char head[11] = {static_cast<char>(kDataTag)};
  size_t head_size = 1;
  uint64_t left = bytes.size();
  for (; left >= 0x80; left >>= 7) head[head_size++] = static_cast<char>(left | 0x80);
  head[head_size++] = static_cast<char>(left);

  // gRPC's slice takes a C callback and a pointer: the one place where ownership must pass through
  // void*.
  auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
  const grpc::Slice slices[] = {
      grpc::Slice(head, head_size),
      grpc::Slice(const_cast<char*>(bytes.data()), bytes.size(), ReleaseOwner, kept.release())};
  return grpc::ByteBuffer(slices, 2);
}

absl::Status ReadPiece(const grpc::ByteBuffer& message,
                       absl::FunctionRef<absl::Status(absl::string_view)> sink) {
  absl::Status malformed =
      absl::InvalidArgumentError("a piece is not one bytes field of the stated length");
  // Copies references, not bytes.
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return malformed;
  // An empty message is the default value: no data.
  if (message.Length() == 0) return absl::OkStatus();

  enum class At { kTag, kLength, kData } at = At::kTag;
  uint64_t length = 0;
  int shift = 0;
  for (const grpc::Slice& slice : slices) {
    absl::string_view rest(reinterpret_cast<const char*>(slice.begin()), slice.size());
    while (!rest.empty() && at != At::kData) {
      const uint8_t byte = static_cast<uint8_t>(rest.front());
      rest.remove_prefix(1);
      if (at == At::kTag) {
        if (byte != kDataTag) return malformed;
        at = At::kLength;
        continue;
      }
      if (shift > 28) return malformed;
      length |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) == 0) at = At::kData;
    }
    if (rest.size() > length) return malformed;
    length -= rest.size();
    if (!rest.empty()) RETURN_IF_ERROR(sink(rest));
  }
  return at == At::kData && length == 0 ? absl::OkStatus() : malformed;
}

}  // namespace neffcache
