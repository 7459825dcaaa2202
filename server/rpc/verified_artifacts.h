#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "io/digest.h"

namespace neffcache {

// Which artifacts' files were lately read whole and found to have their digest.
//
// A stream hashes what it reads unless the artifact is listed here, so that a file that rotted is
// found by the first who fetches it, and a popular one costs a hash every `kGoodFor` only.
// Thread-safe.
class VerifiedArtifacts {
 public:
  static constexpr absl::Duration kGoodFor = absl::Minutes(10);

  bool Contains(const Digest& digest, absl::Time now) const;
  void Add(const Digest& digest, absl::Time now);

 private:
  mutable absl::Mutex mu_;
  absl::flat_hash_map<Digest, absl::Time> verified_at_ ABSL_GUARDED_BY(mu_);
};

}  // namespace neffcache
