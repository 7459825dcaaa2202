#include "graph/numbering.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/computation_writer.h"
#include "graph/encoding.h"
#include "graph/instruction_order.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

// Callees before their callers. INVALID_ARGUMENT for recursion.
absl::StatusOr<std::vector<uint32_t>> BottomUp(const HloIndex& index) {
  enum : uint8_t { kNew, kOpen, kDone };
  struct Frame {
    uint32_t computation;
    size_t next;
  };
  std::vector<uint8_t> state(index.computations.size(), kNew);
  std::vector<uint32_t> order;
  std::vector<Frame> path;
  for (uint32_t start = 0; start < index.computations.size(); ++start) {
    if (state[start] != kNew) continue;
    state[start] = kOpen;
    path.push_back({start, 0});
    while (!path.empty()) {
      Frame& frame = path.back();
      const absl::Span<const uint32_t> callees =
          index.Callees(index.computations[frame.computation]);
      if (frame.next == callees.size()) {
        state[frame.computation] = kDone;
        order.push_back(frame.computation);
        path.pop_back();
        continue;
      }
      const uint32_t callee = callees[frame.next++];
      if (state[callee] == kOpen) {
        return absl::InvalidArgumentError(absl::StrCat(
            "computation ", index.computations[callee].id, " calls itself, directly or not"));
      }
      if (state[callee] == kNew) {
        state[callee] = kOpen;
        path.push_back({callee, 0});
      }
    }
  }
  return order;
}

absl::Status CheckAcyclic(const HloIndex& index, const ComputationRecord& computation,
                          std::vector<uint32_t>* order) {
  if (TopologicalOrder(index, computation, order)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the instructions of computation ", computation.id, " depend on each other"));
}

class CanonicalNumbering {
 public:
  CanonicalNumbering(HloIndex& index, const Schedule& schedule, ComputationWriter& writer,
                     Numbering* numbering)
      : index_(index), schedule_(schedule), writer_(writer), numbering_(*numbering) {}

  absl::Status Run() {
    numbering_.at_position.resize(index_.instructions.size());
    numbering_.position.resize(index_.instructions.size());
    numbering_.computation_position.assign(index_.computations.size(), kUnnumbered);
    numbering_.content.resize(index_.computations.size());
    ASSIGN_OR_RETURN(bottom_up_, BottomUp(index_));
    place_.resize(bottom_up_.size());
    for (uint32_t place = 0; place < bottom_up_.size(); ++place) place_[bottom_up_[place]] = place;
    digested_.resize(bottom_up_.size());
    for (size_t place = 0; place < bottom_up_.size(); ++place) {
      RETURN_IF_ERROR(OrderInstructions(place));
    }
    NumberFrom(index_.entry);
    if (numbering_.computation_at.size() < index_.computations.size()) NumberUnreachable();
    return absl::OkStatus();
  }

 private:
  absl::Status OrderInstructions(size_t place) {
    const ComputationRecord& computation = index_.computations[bottom_up_[place]];
    RETURN_IF_ERROR(CheckAcyclic(index_, computation, &topological_));
    const std::vector<uint32_t> order = CanonicalOrder(
        index_, computation, topological_,
        [&](absl::Span<const uint32_t> positions) { return StructuralDigests(place, positions); });
    for (uint32_t position = 0; position < computation.count; ++position) {
      numbering_.at_position[computation.first + position] = order[position];
      numbering_.position[computation.first + order[position]] = position;
    }
    return absl::OkStatus();
  }

  // Of every instruction without a position: its place in the schedule where there is one, its own
  // fields, and the positions or digests of all it depends on. Equal for equal trees, so it cannot
  // name a node, but it tells most nodes apart.
  std::vector<Digest> StructuralDigests(size_t place, absl::Span<const uint32_t> positions) {
    const ComputationRecord& computation = index_.computations[bottom_up_[place]];
    std::vector<uint32_t> called;
    for (uint32_t offset = 0; offset < computation.count; ++offset) {
      if (positions[offset] != kUnnumbered) continue;
      for (uint32_t callee : index_.Callees(index_.instructions[computation.first + offset])) {
        called.push_back(callee);
      }
    }
    DigestContents(std::move(called));
    std::vector<Digest> digests(computation.count);
    std::vector<std::pair<uint32_t, Digest>> controls;
    // The module refers to scheduled instructions, so even twins must not change places.
    std::vector<uint32_t> turns;
    if (const std::vector<uint32_t>* sequence = schedule_.Of(computation.index)) {
      turns.resize(computation.count);
      for (uint32_t turn = 0; turn < sequence->size(); ++turn) turns[(*sequence)[turn]] = turn + 1;
    }
    Encoding text;
    Sha256 hash;
    const auto put = [&text](uint32_t position, const Digest& digest) {
      text.PutVarint(position);
      if (position == kUnnumbered) text.PutRaw(digest.bytes());
    };
    for (const uint32_t offset : topological_) {
      if (positions[offset] != kUnnumbered) continue;
      const InstructionRecord& instruction = index_.instructions[computation.first + offset];
      if (!turns.empty()) text.PutVarint(turns[offset]);
      writer_.WriteInstruction(computation, instruction, References::kOwnFieldsOnly, &text);
      for (uint32_t operand : index_.Operands(instruction)) {
        put(positions[operand], digests[operand]);
      }
      controls.clear();
      for (uint32_t control : index_.Controls(instruction)) {
        controls.emplace_back(positions[control], digests[control]);
      }
      std::sort(controls.begin(), controls.end());
      controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
      for (const auto& [position, digest] : controls) put(position, digest);
      for (uint32_t callee : index_.Callees(instruction)) {
        text.PutRaw(numbering_.content[callee].bytes());
      }
      text.FlushInto(hash, 0);
      digests[offset] = hash.Finish();
    }
    return digests;
  }

  // Digests these computations and all that they call; their instructions are in order by now.
  void DigestContents(std::vector<uint32_t> computations) {
    std::vector<uint32_t> places;
    while (!computations.empty()) {
      const uint32_t computation = computations.back();
      computations.pop_back();
      if (digested_[computation]) continue;
      digested_[computation] = true;
      places.push_back(place_[computation]);
      const absl::Span<const uint32_t> callees = index_.Callees(index_.computations[computation]);
      computations.insert(computations.end(), callees.begin(), callees.end());
    }
    std::sort(places.begin(), places.end());  // Callees first.
    for (const uint32_t place : places) {
      const uint32_t computation = bottom_up_[place];
      Encoding text;
      Sha256 hash;
      writer_.WriteComputation(index_.computations[computation], References::kContentDigests, &text,
                               hash);
      if (const std::vector<uint32_t>* sequence = schedule_.Of(computation)) {
        numbering_.PutSequence(index_.computations[computation], *sequence, &text);
      }
      text.FlushInto(hash, 0);
      numbering_.content[computation] = hash.Finish();
    }
  }

  // Depth first: what the computation calls, in the order of its instructions, then itself.
  void NumberFrom(uint32_t start) {
    struct Frame {
      uint32_t computation;
      uint32_t position;
      uint32_t callee;
    };
    if (numbering_.computation_position[start] != kUnnumbered) return;
    std::vector<Frame> path = {{start, 0, 0}};
    while (!path.empty()) {
      Frame& frame = path.back();
      const ComputationRecord& computation = index_.computations[frame.computation];
      uint32_t next = kUnnumbered;
      while (next == kUnnumbered && frame.position < computation.count) {
        const uint32_t offset = numbering_.at_position[computation.first + frame.position];
        const absl::Span<const uint32_t> callees =
            index_.Callees(index_.instructions[computation.first + offset]);
        if (frame.callee == callees.size()) {
          frame.callee = 0;
          ++frame.position;
        } else if (const uint32_t callee = callees[frame.callee++];
                   numbering_.computation_position[callee] == kUnnumbered) {
          next = callee;
        }
      }
      if (next != kUnnumbered) {
        path.push_back({next, 0, 0});
        continue;
      }
      numbering_.computation_position[frame.computation] =
          static_cast<uint32_t>(numbering_.computation_at.size());
      numbering_.computation_at.push_back(frame.computation);
      path.pop_back();
    }
  }

  // Computations that the entry does not reach are kept: those that nobody calls, by content, each
  // after what it calls.
  void NumberUnreachable() {
    std::vector<bool> called(index_.computations.size());
    for (uint32_t callee : index_.callees) called[callee] = true;
    std::vector<uint32_t> starts;
    for (uint32_t i = 0; i < index_.computations.size(); ++i) {
      if (!called[i] && numbering_.computation_position[i] == kUnnumbered) starts.push_back(i);
    }
    if (starts.size() > 1) {
      DigestContents(starts);
      std::stable_sort(starts.begin(), starts.end(), [this](uint32_t a, uint32_t b) {
        return numbering_.content[a] < numbering_.content[b];
      });
    }
    for (uint32_t start : starts) NumberFrom(start);
  }

  HloIndex& index_;
  const Schedule& schedule_;
  ComputationWriter& writer_;
  Numbering& numbering_;
  std::vector<uint32_t> bottom_up_;
  std::vector<uint32_t> topological_;  // Of the computation at hand.
  std::vector<uint32_t> place_;        // In bottom_up_, by computation.
  std::vector<bool> digested_;         // By computation.
};

}  // namespace

void Numbering::PutSequence(const ComputationRecord& computation,
                            absl::Span<const uint32_t> offsets, Encoding* out) const {
  out->PutVarint(offsets.size());
  for (const uint32_t offset : offsets) out->PutVarint(position[computation.first + offset]);
}

absl::StatusOr<Numbering> WrittenNumbering(const HloIndex& index) {
  const absl::StatusOr<std::vector<uint32_t>> bottom_up = BottomUp(index);
  if (!bottom_up.ok()) return bottom_up.status();
  Numbering numbering;
  numbering.at_position.resize(index.instructions.size());
  std::vector<uint32_t> order;
  for (const ComputationRecord& computation : index.computations) {
    RETURN_IF_ERROR(CheckAcyclic(index, computation, &order));
    const auto begin =
        numbering.at_position.begin() + static_cast<std::ptrdiff_t>(computation.first);
    std::iota(begin, begin + static_cast<std::ptrdiff_t>(computation.count), 0u);
  }
  numbering.position = numbering.at_position;
  numbering.computation_at.resize(index.computations.size());
  std::iota(numbering.computation_at.begin(), numbering.computation_at.end(), 0u);
  numbering.computation_position = numbering.computation_at;
  numbering.content.resize(index.computations.size());
  return numbering;
}

absl::Status NumberCanonically(HloIndex& index, const Schedule& schedule, ComputationWriter& writer,
                               Numbering* numbering) {
  return CanonicalNumbering(index, schedule, writer, numbering).Run();
}

}  // namespace neffcache
