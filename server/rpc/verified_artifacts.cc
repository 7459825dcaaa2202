#include "server/rpc/verified_artifacts.h"

#include <cstddef>

namespace neffcache {
namespace {

// Forgetting costs a hash; remembering all artifacts of a large store would cost memory.
constexpr size_t kMost = 65536;

}  // namespace

bool VerifiedArtifacts::Contains(const Digest& digest, absl::Time now) const {
  absl::MutexLock lock(&mu_);
  const auto it = verified_at_.find(digest);
  return it != verified_at_.end() && now - it->second < kGoodFor;
}

void VerifiedArtifacts::Add(const Digest& digest, absl::Time now) {
  absl::MutexLock lock(&mu_);
  if (verified_at_.size() >= kMost) verified_at_.clear();
  verified_at_[digest] = now;
}

}  // namespace neffcache
