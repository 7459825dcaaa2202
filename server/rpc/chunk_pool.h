#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/digest.h"
#include "server/store/content.h"

namespace neffcache {

// A part of some content, in memory that goes back to its pool with the last stream that sends it.
class Chunk {
 public:
  Chunk(std::unique_ptr<char[]> memory, size_t capacity)
      : memory_(std::move(memory)), capacity_(capacity) {}

  std::span<char> space() { return {memory_.get(), capacity_}; }
  void set_size(size_t size) { size_ = size; }
  absl::string_view bytes() const { return {memory_.get(), size_}; }
  size_t capacity() const { return capacity_; }

 private:
  friend class ChunkPool;
  std::unique_ptr<char[]> memory_;
  size_t capacity_;
  size_t size_ = 0;
};

// Recycled 1 MiB buffers: warm in the cache and never given back to the kernel, which costs more
// than the copy. Streams that are at the same place of the same content share one chunk, so a
// thousand ranks that start together read each byte once.
//
// Memory is bounded by `budget` plus two small chunks for each stream: beyond the budget no
// others are made.
//
// Thread-safe. The chunks may outlive the pool.
class ChunkPool {
 public:
  static constexpr size_t kSmallChunk = size_t{64} << 10;

  explicit ChunkPool(size_t budget_bytes);
  ~ChunkPool();

  // The chunk of `content` that begins at `offset`: one that another stream is sending, or a new
  // one that `read` fills (from the calling thread, without a lock held; it returns the bytes
  // read). Chunks may have any size; only the content's end gives an empty one.
  using Reader = absl::FunctionRef<absl::StatusOr<size_t>(std::span<char>)>;
  absl::StatusOr<std::shared_ptr<const Chunk>> Get(ContentKind kind, const Digest& content,
                                                   uint64_t offset, Reader read);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace neffcache
