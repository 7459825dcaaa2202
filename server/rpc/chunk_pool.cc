#include "server/rpc/chunk_pool.h"

#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

// The same bytes may be kept as a graph and as an artifact, differently encoded.
using Place = std::tuple<ContentKind, Digest, uint64_t>;

}  // namespace

struct ChunkPool::State {
  explicit State(size_t budget) : max_large(budget / kPieceSize) {}

  std::unique_ptr<Chunk> Take();
  void Return(std::unique_ptr<Chunk> chunk, const Place& place);

  const size_t max_large;
  mutable absl::Mutex mu;
  size_t large_in_use ABSL_GUARDED_BY(mu) = 0;
  std::vector<std::unique_ptr<Chunk>> free ABSL_GUARDED_BY(mu);
  absl::flat_hash_map<Place, std::weak_ptr<const Chunk>> shared ABSL_GUARDED_BY(mu);
};

std::unique_ptr<Chunk> ChunkPool::State::Take() {
  size_t capacity = kSmallChunk;
  {
    absl::MutexLock lock(&mu);
    if (large_in_use < max_large) {
      ++large_in_use;
      capacity = kPieceSize;
      if (!free.empty()) {
        std::unique_ptr<Chunk> chunk = std::move(free.back());
        free.pop_back();
        return chunk;
      }
    }
  }
  // Not zeroed: every byte that is sent was read into it.
  return std::make_unique<Chunk>(std::make_unique_for_overwrite<char[]>(capacity), capacity);
}

void ChunkPool::State::Return(std::unique_ptr<Chunk> chunk, const Place& place) {
  absl::MutexLock lock(&mu);
  const auto it = shared.find(place);
  // Somebody may have put another chunk there since this one's last stream let go.
  if (it != shared.end() && it->second.expired()) shared.erase(it);
  if (chunk->capacity() < kPieceSize) return;
  --large_in_use;
  free.push_back(std::move(chunk));
}

ChunkPool::ChunkPool(size_t budget_bytes) : state_(std::make_shared<State>(budget_bytes)) {}

ChunkPool::~ChunkPool() = default;

absl::StatusOr<std::shared_ptr<const Chunk>> ChunkPool::Get(ContentKind kind, const Digest& content,
                                                            uint64_t offset, Reader read) {
  const Place place(kind, content, offset);
  {
    absl::MutexLock lock(&state_->mu);
    const auto it = state_->shared.find(place);
    if (it != state_->shared.end()) {
      if (std::shared_ptr<const Chunk> chunk = it->second.lock()) return chunk;
    }
  }
  std::unique_ptr<Chunk> fresh = state_->Take();
  Chunk& filled = *fresh;
  // Owned from here on, so that a failed read gives the memory back.
  const std::shared_ptr<const Chunk> chunk(
      fresh.release(), [state = state_, place](const Chunk* done) {
        state->Return(std::unique_ptr<Chunk>(const_cast<Chunk*>(done)), place);
      });
  absl::StatusOr<size_t> size = read(filled.space());
  if (!size.ok()) return size.status();
  filled.set_size(*size);
  absl::MutexLock lock(&state_->mu);
  state_->shared[place] = chunk;
  return chunk;
}

}  // namespace neffcache
