#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// Receives output as it is made; an error ends the work and is returned from it.
using ByteSink = absl::FunctionRef<absl::Status(absl::string_view)>;

// Compresses a stream with zstd in bounded memory. Not thread-safe.
class ZstdCompressor {
 public:
  explicit ZstdCompressor(int level = 3);
  ~ZstdCompressor();
  ZstdCompressor(ZstdCompressor&&) noexcept;
  ZstdCompressor& operator=(ZstdCompressor&&) noexcept;

  absl::Status Write(absl::string_view bytes, ByteSink sink);
  // Ends the frame.
  absl::Status Finish(ByteSink sink);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decompresses one zstd stream in bounded memory: the window is at most 128 MiB and more than
// `limit` bytes of output are RESOURCE_EXHAUSTED, so a bomb is an error. Damaged input is
// DATA_LOSS. Not thread-safe.
class ZstdDecompressor {
 public:
  explicit ZstdDecompressor(uint64_t limit);
  ~ZstdDecompressor();
  ZstdDecompressor(ZstdDecompressor&&) noexcept;
  ZstdDecompressor& operator=(ZstdDecompressor&&) noexcept;

  absl::Status Write(absl::string_view compressed, ByteSink sink);
  // DATA_LOSS when the input ended inside a frame, or there was none.
  absl::Status Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whole strings, for records and logs.
std::string ZstdCompress(absl::string_view bytes);
absl::StatusOr<std::string> ZstdDecompress(absl::string_view compressed, uint64_t limit);

}  // namespace neffcache
