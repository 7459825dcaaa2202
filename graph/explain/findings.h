#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/explain.h"
#include "graph/explain/source_lines.h"

namespace neffcache {

// A difference before it is put into words.
struct Finding {
  Difference::Kind kind = Difference::Kind::kInstruction;
  bool follows = false;  // Likely a consequence of another one, and less important.
  std::string subject;   // "dot.42"; empty: the change says it all.
  SourceLine source;
  std::string change;  // "lhs_contracting_dimensions [1] → [0]".
  // The same change elsewhere is the same finding; not for what is named by its change alone.
  bool foldable = false;
  bool has_shape = false;  // A shape is another one, and others may follow from that.
};

// Collects the findings of one explanation, in bounded memory: the first few of each kind, equal
// changes folded into one, the rest counted.
class Findings {
 public:
  explicit Findings(size_t limit) : limit_(limit) {}

  void Add(Finding finding);
  // Further ones that are known by their number only.
  void AddOmitted(uint64_t count) { count_ += count; }
  // Shapes that are others only because of what they are computed from.
  void CountFollowingShape() { ++following_shapes_; }

  uint64_t following_shapes() const { return following_shapes_; }
  bool empty() const { return count_ == 0; }
  // Moves everything into the explanation, the most important first.
  void MoveTo(Explanation* explanation);

 private:
  struct Kept {
    Finding finding;
    uint64_t likewise = 0;
  };
  const Kept* CauseOfShapes() const;

  static constexpr size_t kKinds = static_cast<size_t>(Difference::Kind::kOrder) + 1;
  static constexpr size_t kMostFolds = 4096;
  static size_t ClassOf(Difference::Kind kind, bool follows);

  const size_t limit_;
  uint64_t count_ = 0;  // Of findings, those folded counted once.
  uint64_t following_shapes_ = 0;
  std::array<std::vector<Kept>, 2 * kKinds> kept_;
  // By kind and change: the class and place in kept_.
  absl::flat_hash_map<std::string, std::pair<size_t, size_t>> folds_;
};

}  // namespace neffcache
