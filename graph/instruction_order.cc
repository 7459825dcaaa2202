#include "graph/instruction_order.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

#include "graph/encoding.h"
#include "graph/wire.h"

namespace neffcache {
namespace {

struct Frame {
  uint32_t node;
  uint32_t next;  // The predecessor to visit next.
};

class Orderer {
 public:
  Orderer(HloIndex& index, const ComputationRecord& computation,
          absl::Span<const uint32_t> topological, DigestsOf digests)
      : index_(index),
        nodes_(&index.instructions[computation.first]),
        count_(computation.count),
        root_(computation.root),
        topological_(topological),
        digests_of_(digests),
        position_(count_, kUnnumbered),
        effort_left_(uint64_t{64} * count_ + 4096) {
    order_.reserve(count_);
  }

  std::vector<uint32_t> Run() && {
    NumberParameters();
    Number(root_);
    if (order_.size() < count_) NumberSinks();
    return std::move(order_);
  }

 private:
  // --- Numbering ---

  void NumberParameters() {
    std::vector<uint32_t> parameters;
    for (uint32_t i = 0; i < count_; ++i) {
      if (nodes_[i].is_parameter) parameters.push_back(i);
    }
    std::stable_sort(parameters.begin(), parameters.end(), [this](uint32_t a, uint32_t b) {
      return nodes_[a].parameter_number < nodes_[b].parameter_number;
    });
    for (uint32_t parameter : parameters) Number(parameter);
  }

  // Numbers `start` after all that it depends on. True when a node was numbered that several
  // candidates of `round` depend on.
  bool Number(uint32_t start, uint32_t round = 0) {
    bool shared = false;
    if (position_[start] != kUnnumbered) return shared;
    path_.push_back({start, 0});
    while (!path_.empty()) {
      Frame& frame = path_.back();
      const InstructionRecord& node = nodes_[frame.node];
      if (frame.next == node.operands && node.controls > 1) SortControls(node);
      const absl::Span<const uint32_t> before = index_.Predecessors(node);
      while (frame.next < before.size() && position_[before[frame.next]] != kUnnumbered) {
        if (++frame.next == node.operands && node.controls > 1) SortControls(node);
      }
      if (frame.next < before.size()) {
        path_.push_back({before[frame.next++], 0});
        continue;
      }
      position_[frame.node] = static_cast<uint32_t>(order_.size());
      order_.push_back(frame.node);
      shared |= round != 0 && shared_round_[frame.node] == round;
      path_.pop_back();
    }
    return shared;
  }

  // A sink is used by nobody: dead code, or there for its effect.
  void NumberSinks() {
    std::vector<bool> used(count_);
    for (uint32_t i = 0; i < count_; ++i) {
      for (uint32_t p : index_.Predecessors(nodes_[i])) used[p] = true;
    }
    std::vector<uint32_t> sinks;
    for (uint32_t i = 0; i < count_; ++i) {
      if (!used[i] && position_[i] == kUnnumbered) sinks.push_back(i);
    }
    if (sinks.size() == 1) {
      Number(sinks[0]);
      return;
    }
    const std::vector<Digest>& digests = Digests();
    std::stable_sort(sinks.begin(), sinks.end(),
                     [&](uint32_t a, uint32_t b) { return digests[a] < digests[b]; });
    for (size_t begin = 0; begin < sinks.size();) {
      size_t end = begin + 1;
      while (end < sinks.size() && digests[sinks[end]] == digests[sinks[begin]]) ++end;
      NumberEqual({sinks.begin() + static_cast<std::ptrdiff_t>(begin),
                   sinks.begin() + static_cast<std::ptrdiff_t>(end)});
      begin = end;
    }
  }

  // Numbers nodes of equal structure in the order of how their cones refer to numbered nodes.
  void NumberEqual(std::vector<uint32_t> nodes) {
    while (nodes.size() > 1 && effort_left_ > 0) {
      const uint32_t round = BeginRound();
      std::vector<std::pair<Digest, uint32_t>> signed_nodes;
      signed_nodes.reserve(nodes.size());
      for (uint32_t node : nodes) signed_nodes.emplace_back(Signature(node), node);
      std::sort(signed_nodes.begin(), signed_nodes.end());
      // The signatures hold until a node is numbered that several of the cones contain.
      size_t done = 0;
      bool shared = false;
      while (done < signed_nodes.size() && !shared) {
        shared = Number(signed_nodes[done++].second, round);
      }
      nodes.clear();
      for (size_t i = done; i < signed_nodes.size(); ++i) nodes.push_back(signed_nodes[i].second);
    }
    for (uint32_t node : nodes) Number(node);
  }

  // Control predecessors are a set: those of smaller structural digests are visited first.
  void SortControls(const InstructionRecord& node) {
    uint32_t* const begin = index_.edges.data() + node.first_edge + node.operands;
    uint32_t* const end = begin + node.controls;
    const auto unnumbered = [this](uint32_t i) { return position_[i] == kUnnumbered; };
    if (std::count_if(begin, end, unnumbered) < 2) return;
    const std::vector<Digest>& digests = Digests();
    for (uint32_t* run = begin; run < end;) {
      uint32_t* next = run + 1;
      while (next < end && digests[*next] == digests[*run]) ++next;
      if (next - run > 1 && effort_left_ > 0) SortEqual(run, next);
      run = next;
    }
  }

  void SortEqual(uint32_t* begin, uint32_t* end) {
    BeginRound();
    std::vector<std::pair<Digest, uint32_t>> signed_nodes;
    for (uint32_t* node = begin; node < end; ++node) {
      const bool numbered = position_[*node] != kUnnumbered;
      signed_nodes.emplace_back(numbered ? Digest() : Signature(*node), *node);
    }
    std::sort(signed_nodes.begin(), signed_nodes.end());
    for (const auto& [signature, node] : signed_nodes) *begin++ = node;
  }

  // --- Telling equal structures apart ---

  const std::vector<Digest>& Digests() {
    if (!digests_.empty()) return digests_;
    digests_ = digests_of_(position_);
    // Walks below must not depend on how control predecessors were written.
    const auto key = [this](uint32_t i) { return std::tie(position_[i], digests_[i]); };
    for (uint32_t i = 0; i < count_; ++i) {
      const InstructionRecord& node = nodes_[i];
      if (node.controls < 2) continue;
      uint32_t* const begin = index_.edges.data() + node.first_edge + node.operands;
      std::sort(begin, begin + node.controls,
                [&](uint32_t a, uint32_t b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
    }
    return digests_;
  }

  uint32_t BeginRound() {
    if (contexts_.empty()) MakeContexts();
    if (seen_.empty()) {
      seen_.resize(count_);
      local_.resize(count_);
      round_seen_.resize(count_);
      shared_round_.resize(count_);
    }
    return ++round_;
  }

  // Twins may be used by different things. The context of a node is its digest and the contexts of
  // its users; those of a numbered node are numbered, too, and do not matter any more. A sum stands
  // for the set of users: where two sums should ever be equal by chance, the written order decides.
  void MakeContexts() {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
    const std::vector<Digest>& digests = Digests();
    std::vector<uint64_t> users(count_);
    contexts_.resize(count_);
    Encoding text;
    for (size_t i = topological_.size(); i-- > 0;) {
      const uint32_t node = topological_[i];
      if (position_[node] != kUnnumbered) continue;
      text.PutRaw(digests[node].bytes());
      text.PutVarint(users[node]);
      text.PutByte(node == root_);
      text.FlushInto(hash_, 0);
      contexts_[node] = LoadFixed64(hash_.Finish().bytes());
      const absl::Span<const uint32_t> before = index_.Predecessors(nodes_[node]);
      for (size_t slot = 0; slot < before.size(); ++slot) {
        // Operands have places, control predecessors have none.
        const uint64_t place = std::min<uint64_t>(slot, nodes_[node].operands);
        uint64_t mixed = (contexts_[node] ^ (place + 1) * kOdd) * kOdd;
        mixed ^= mixed >> 29;
        users[before[slot]] += mixed * kOdd;
      }
    }
  }

  // Describes what `start` depends on as far as it is not numbered: by positions where it is, by
  // context and order of discovery where it is not.
  Digest Signature(uint32_t start) {
    constexpr char kNumbered = 'P', kSeen = 'L', kNew = 'N', kEnd = 'E';
    ++walk_;
    uint32_t found = 0;
    const auto visit = [&](uint32_t node) {
      seen_[node] = walk_;
      local_[node] = found++;
      if (round_seen_[node] == round_) shared_round_[node] = round_;
      round_seen_[node] = round_;
      tokens_.PutVarint(contexts_[node]);
      if (effort_left_ > 0) --effort_left_;
      cone_.push_back({node, 0});
    };
    visit(start);
    while (!cone_.empty()) {
      Frame& frame = cone_.back();
      const absl::Span<const uint32_t> before = index_.Predecessors(nodes_[frame.node]);
      if (frame.next == before.size() || effort_left_ == 0) {
        tokens_.PutByte(kEnd);
        cone_.pop_back();
        continue;
      }
      const uint32_t node = before[frame.next++];
      if (position_[node] != kUnnumbered) {
        tokens_.PutByte(kNumbered);
        tokens_.PutVarint(position_[node]);
        if (effort_left_ > 0) --effort_left_;
      } else if (seen_[node] == walk_) {
        tokens_.PutByte(kSeen);
        tokens_.PutVarint(local_[node]);
        if (effort_left_ > 0) --effort_left_;
      } else {
        tokens_.PutByte(kNew);
        visit(node);
      }
      tokens_.FlushInto(hash_);
    }
    tokens_.FlushInto(hash_, 0);
    return hash_.Finish();
  }

  HloIndex& index_;
  const InstructionRecord* const nodes_;
  const uint32_t count_;
  const uint32_t root_;
  const absl::Span<const uint32_t> topological_;
  const DigestsOf digests_of_;

  std::vector<uint32_t> position_;  // By offset.
  std::vector<uint32_t> order_;
  std::vector<Frame> path_;
  std::vector<Digest> digests_;
  std::vector<uint64_t> contexts_;

  // A round gives signatures to several candidates, one walk each.
  uint64_t effort_left_;
  uint32_t round_ = 0;
  uint32_t walk_ = 0;
  std::vector<uint32_t> seen_;          // The walk that met a node last,
  std::vector<uint32_t> local_;         // and its number in that walk.
  std::vector<uint32_t> round_seen_;    // The round that met a node last,
  std::vector<uint32_t> shared_round_;  // and the one that met it from several candidates.
  std::vector<Frame> cone_;
  Encoding tokens_;
  Sha256 hash_;
};

}  // namespace

bool TopologicalOrder(const HloIndex& index, const ComputationRecord& computation,
                      std::vector<uint32_t>* order) {
  order->clear();
  if (computation.in_order) {
    order->resize(computation.count);
    std::iota(order->begin(), order->end(), 0u);
    return true;
  }
  enum : uint8_t { kNew, kOpen, kDone };
  const InstructionRecord* const nodes = &index.instructions[computation.first];
  std::vector<uint8_t> state(computation.count, kNew);
  std::vector<Frame> path;
  for (uint32_t start = 0; start < computation.count; ++start) {
    if (state[start] != kNew) continue;
    state[start] = kOpen;
    path.push_back({start, 0});
    while (!path.empty()) {
      Frame& frame = path.back();
      const absl::Span<const uint32_t> before = index.Predecessors(nodes[frame.node]);
      if (frame.next == before.size()) {
        state[frame.node] = kDone;
        order->push_back(frame.node);
        path.pop_back();
        continue;
      }
      const uint32_t node = before[frame.next++];
      if (state[node] == kOpen) return false;
      if (state[node] == kNew) {
        state[node] = kOpen;
        path.push_back({node, 0});
      }
    }
  }
  return true;
}

std::vector<uint32_t> CanonicalOrder(HloIndex& index, const ComputationRecord& computation,
                                     absl::Span<const uint32_t> topological, DigestsOf digests) {
  return Orderer(index, computation, topological, digests).Run();
}

}  // namespace neffcache
