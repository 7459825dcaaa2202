#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "graph/explain.h"
#include "graph/parts.h"
#include "server/store/entry.h"
#include "server/store/near_entry.h"
#include "server/store/store.h"

namespace neffcache {

struct MissExplainerOptions {
  std::function<absl::Time()> clock = absl::Now;
  // Pending work, some kilobytes each; more is not done.
  size_t max_pending = 4000;
  // While more tasks than this wait, graphs are not compared, only their parts.
  size_t compare_while_pending = 32;
  // Larger graphs have no parts...
  uint64_t parts_limit_bytes = uint64_t{256} << 20;
  // ...and are not compared.
  uint64_t compare_limit_bytes = uint64_t{32} << 20;
  uint64_t compare_limit_instructions = 200'000;
  // For tests.
  std::function<absl::StatusOr<Explanation>(absl::string_view before, absl::string_view after)>
      compare = [](absl::string_view before, absl::string_view after) {
        return ExplainGraphs(before, after);
      };
  // Told of every explanation, on the explainer's thread.
  std::function<void(const Key& key, const Miss& miss)> on_explained;
};

// Says of every compile that is queued why it had to be: which entry is most like it, and in what
// that differs. And makes entries ones that can be found so.
//
// All is done by one thread at low priority, one thing at a time: nobody waits for it, and what
// fails, or comes while too much is pending, stays unexplained. Memory: two graphs of the limit and
// what comparing them takes.
//
// Thread-safe. `store` must outlive this. The destructor drops what is pending.
class MissExplainer {
 public:
  MissExplainer(Store& store, MissExplainerOptions options);
  ~MissExplainer();

  // A compile was queued. `reason` is why, when whoever queued it knows. Never blocks.
  void NoteMiss(const QueuedCompile& compile, absl::string_view reason);
  // A key has an entry since now. Never blocks.
  void NoteEntry(const Entry& entry);

  // Returns when all that was noted before is done.
  void AwaitIdle();
  uint64_t dropped() const;

 private:
  using Task = absl::AnyInvocable<void()>;

  void Post(Task task);
  void Run();
  bool Due() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !tasks_.empty(); }
  bool Idle() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return tasks_.empty() && !busy_; }
  size_t pending() const;

  // On the explainer's thread.
  void ExplainMiss(const QueuedCompile& compile, const std::string& reason);
  void IndexEntry(const Key& key, const Fingerprint& fingerprint, GraphRecord graph);
  Miss Explain(const QueuedCompile& compile);
  std::string DescribeGraphs(const NearEntry& nearest, const QueuedCompile& compile,
                             const absl::optional<GraphParts>& parts);
  // Empty where they cannot be compared in full.
  absl::optional<std::string> CompareGraphs(const GraphRecord& before, const GraphRecord& after);
  bool Comparable(const GraphRecord& graph) const;
  absl::optional<GraphParts> PartsOf(const Fingerprint& fingerprint, const GraphRecord& graph);

  Store& store_;
  const MissExplainerOptions options_;
  // Of the last graphs: a compile's are wanted when it is queued and when it is committed.
  absl::flat_hash_map<Digest, absl::optional<GraphParts>> known_parts_;
  std::deque<Digest> known_order_;

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;  // Last: it uses the rest.
};

}  // namespace neffcache
