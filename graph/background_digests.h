#pragma once

#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "graph/hlo_index.h"
#include "io/digest.h"

namespace neffcache {

// Digests of a module's long literals, made on a second thread from the last one backwards while
// the owner works its way from the first one forwards. Whoever comes to one first hashes it, so
// nothing is hashed twice and nobody waits but for the one in the middle.
//
// DigestOf() is for one thread. The strings must outlive this; the destructor waits until the one
// that is being hashed is done.
class BackgroundDigests {
 public:
  // Starts a thread where that pays: several long strings, more than one processor.
  explicit BackgroundDigests(std::vector<absl::string_view> strings);
  ~BackgroundDigests();
  BackgroundDigests(const BackgroundDigests&) = delete;
  BackgroundDigests& operator=(const BackgroundDigests&) = delete;

  // SHA-256 of `bytes`, whether it is one of the strings or not.
  Digest DigestOf(absl::string_view bytes);

 private:
  struct Entry {
    absl::string_view bytes;
    enum class State { kFree, kTaken, kDone } state = State::kFree;
    Digest digest;
  };

  void HashBackwards();
  bool Take(size_t entry, absl::string_view* bytes) ABSL_LOCKS_EXCLUDED(mu_);
  Digest Hash(size_t entry, absl::string_view bytes) ABSL_LOCKS_EXCLUDED(mu_);

  absl::Mutex mu_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  // By address and length, the places in entries_; built once.
  absl::flat_hash_map<std::pair<const char*, size_t>, size_t> places_;
  std::thread thread_;  // Not started where it does not pay.
};

// The strings of literals that are long enough to be worth another thread's while, in the order of
// the module.
std::vector<absl::string_view> LongLiterals(const HloIndex& index);

}  // namespace neffcache
