#include "compiler_driver/lease_table.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace neffcache {

void LeaseTable::Grant(const std::shared_ptr<HeldLease>& lease) {
  const uint64_t token = lease->lease.token;
  absl::MutexLock lock(&mu_);
  if (held_.emplace(token, lease).second) waiting_.push_back(token);
}

void LeaseTable::Revoke(uint64_t token) {
  std::shared_ptr<HeldLease> revoked;
  {
    absl::MutexLock lock(&mu_);
    const auto found = held_.find(token);
    if (found == held_.end()) return;
    revoked = found->second;
    // One that no slot has taken has nothing to kill and nobody to release it.
    const auto waiting = std::find(waiting_.begin(), waiting_.end(), token);
    if (waiting != waiting_.end()) {
      waiting_.erase(waiting);
      held_.erase(found);
      if (held_.empty()) emptied_ = absl::Now();
    }
  }
  revoked->stop.request_stop();
}

void LeaseTable::RevokeAll() {
  std::vector<uint64_t> tokens;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [token, lease] : held_) tokens.push_back(token);
  }
  for (uint64_t token : tokens) Revoke(token);
}

std::shared_ptr<HeldLease> LeaseTable::Take() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &LeaseTable::CanTake));
  if (closed_) return nullptr;
  const uint64_t token = waiting_.front();
  waiting_.pop_front();
  return held_.at(token);
}

void LeaseTable::Release(uint64_t token) {
  absl::MutexLock lock(&mu_);
  held_.erase(token);
  if (held_.empty()) emptied_ = absl::Now();
}

void LeaseTable::Close() {
  absl::MutexLock lock(&mu_);
  closed_ = true;
}

std::vector<LeaseTable::Progress> LeaseTable::ReadProgress() const {
  std::vector<Progress> progress;
  absl::MutexLock lock(&mu_);
  progress.reserve(held_.size());
  for (const auto& [token, lease] : held_) progress.push_back({token, lease->progress.Read()});
  return progress;
}

bool LeaseTable::empty() const {
  absl::MutexLock lock(&mu_);
  return held_.empty();
}

void LeaseTable::AwaitEmpty() const {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &LeaseTable::EmptyLocked));
}

absl::Time LeaseTable::IdleSince(absl::Time at_least) const {
  absl::MutexLock lock(&mu_);
  return held_.empty() ? std::max(emptied_, at_least) : absl::InfiniteFuture();
}

}  // namespace neffcache
