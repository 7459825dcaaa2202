#include "graph/explain/instruction_match.h"

#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "graph/explain/sequence_match.h"

namespace neffcache {
namespace {

constexpr uint32_t kNone = InstructionMatching::kNone;
// Differences among the operands of one instruction that are told one by one.
constexpr uint32_t kMostOperands = 64;

class Matcher {
 public:
  Matcher(const InstructionTable& before, const InstructionTable& after)
      : before_(before), after_(after) {
    matching_.after.assign(before.size(), kNone);
    matching_.before.assign(after.size(), kNone);
  }

  InstructionMatching Run() && {
    MatchTrees(Trees::kUnique);
    if (SameParameters()) MatchParameters();
    if (SameOpcode(before_.root, after_.root)) Pair(before_.root, after_.root);
    Descend();
    Ascend(&InstructionTable::Row::own);
    Descend();
    if (!SameParameters()) MatchParameters();
    Ascend(&InstructionTable::Row::opcode);
    Descend();
    MatchTrees(Trees::kAll);
    MatchRest();
    Descend();
    MatchSinks();
    MatchReplaced();
    return std::move(matching_);
  }

 private:
  bool Free(uint32_t b, uint32_t a) const {
    return matching_.after[b] == kNone && matching_.before[a] == kNone;
  }
  bool SameOpcode(uint32_t b, uint32_t a) const {
    return before_.rows[b].opcode == after_.rows[a].opcode;
  }
  // True when the two were free and are a pair now.
  bool Pair(uint32_t b, uint32_t a) {
    if (!Free(b, a)) return false;
    matching_.after[b] = a;
    matching_.before[a] = b;
    todo_.emplace_back(b, a);
    return true;
  }

  // Trees that occur several times are told apart by what uses them, which takes other pairs first.
  enum class Trees { kUnique, kAll };

  // From users to operands, so that among equal trees those are paired that have the same users.
  void MatchTrees(Trees which) {
    absl::flat_hash_map<uint64_t, uint32_t> last;  // Of a chain of positions with one tree.
    std::vector<uint32_t> previous(after_.size(), kNone);
    absl::flat_hash_set<uint64_t> met, repeated;
    if (which == Trees::kUnique) {
      for (const InstructionTable::Row& row : before_.rows) {
        if (!met.insert(row.tree).second) repeated.insert(row.tree);
      }
      met.clear();
      for (const InstructionTable::Row& row : after_.rows) {
        if (!met.insert(row.tree).second) repeated.insert(row.tree);
      }
    }
    for (uint32_t a = 0; a < after_.size(); ++a) {
      if (repeated.contains(after_.rows[a].tree)) continue;
      const auto [it, added] = last.try_emplace(after_.rows[a].tree, a);
      if (!added) {
        previous[a] = it->second;
        it->second = a;
      }
    }
    for (uint32_t b = before_.size(); b-- > 0;) {
      if (matching_.after[b] != kNone) continue;
      const auto found = last.find(before_.rows[b].tree);
      if (found == last.end()) continue;
      uint32_t& a = found->second;
      while (a != kNone && matching_.before[a] != kNone) a = previous[a];
      if (a == kNone) continue;
      Pair(b, a);
      Descend();
    }
  }

  bool SameParameters() const { return before_.parameters.size() == after_.parameters.size(); }

  // By number where there are as many, else those that nothing else has told, by shape in order.
  void MatchParameters() {
    const std::vector<uint32_t>& b = before_.parameters;
    const std::vector<uint32_t>& a = after_.parameters;
    if (SameParameters()) {
      for (size_t i = 0; i < b.size(); ++i) Pair(b[i], a[i]);
    } else {
      const auto free = [](const std::vector<uint32_t>& parameters,
                           const std::vector<uint32_t>& partners) {
        std::vector<uint32_t> positions;
        for (const uint32_t position : parameters) {
          if (partners[position] == kNone) positions.push_back(position);
        }
        return positions;
      };
      MatchInOrder(free(b, matching_.after), free(a, matching_.before),
                   &InstructionTable::Row::shape);
    }
  }

  // Pairs of equal tokens, in the order given.
  void MatchInOrder(const std::vector<uint32_t>& b, const std::vector<uint32_t>& a,
                    uint64_t InstructionTable::Row::*token) {
    const auto tokens = [token](const InstructionTable& table,
                                const std::vector<uint32_t>& positions) {
      std::vector<uint64_t> result;
      result.reserve(positions.size());
      for (const uint32_t position : positions) result.push_back(table.rows[position].*token);
      return result;
    };
    for (const auto& [i, k] : MatchSequences(tokens(before_, b), tokens(after_, a))) {
      Pair(b[i], a[k]);
    }
  }

  // Operands of pairs are pairs, where they do the same.
  void Descend() {
    while (!todo_.empty()) {
      const auto [b, a] = todo_.back();
      todo_.pop_back();
      PairOperands(b, a);
    }
  }
  void PairOperands(uint32_t b, uint32_t a) {
    const auto b_operands = before_.Operands(b);
    const auto a_operands = after_.Operands(a);
    if (b_operands.size() == a_operands.size()) {
      bool all_equal = true;
      for (size_t i = 0; i < b_operands.size(); ++i) {
        const bool equal = Tree(before_, b_operands[i]) == Tree(after_, a_operands[i]);
        all_equal &= equal;
        if (equal) Pair(b_operands[i], a_operands[i]);
      }
      if (!all_equal) PairChangedOperands(b_operands, a_operands);
      return;
    }
    const auto fields = [](const InstructionTable& table, absl::Span<const uint32_t> operands) {
      std::vector<uint64_t> tokens;
      for (const uint32_t position : operands) tokens.push_back(table.rows[position].own);
      return tokens;
    };
    for (const auto& [i, k] :
         MatchSequences(fields(before_, b_operands), fields(after_, a_operands), kMostOperands)) {
      Pair(b_operands[i], a_operands[k]);
    }
  }

  // Not what has only changed its place.
  void PairChangedOperands(absl::Span<const uint32_t> b_operands,
                           absl::Span<const uint32_t> a_operands) {
    absl::flat_hash_set<uint64_t> b_trees, a_trees;
    for (size_t i = 0; i < b_operands.size(); ++i) {
      if (Tree(before_, b_operands[i]) == Tree(after_, a_operands[i])) continue;
      b_trees.insert(Tree(before_, b_operands[i]));
      a_trees.insert(Tree(after_, a_operands[i]));
    }
    for (size_t i = 0; i < b_operands.size(); ++i) {
      const uint32_t b = b_operands[i], a = a_operands[i];
      const bool moved = a_trees.contains(Tree(before_, b)) || b_trees.contains(Tree(after_, a));
      if (!moved && SameOpcode(b, a)) Pair(b, a);
    }
  }
  static uint64_t Tree(const InstructionTable& table, uint32_t position) {
    return table.rows[position].tree;
  }

  // Users of pairs are pairs, where they use them in the same place and have the same `token`. From
  // operands to users, so that pairs go on upwards.
  void Ascend(uint64_t InstructionTable::Row::*token) {
    using Place = std::tuple<uint32_t, uint32_t, uint64_t>;  // Operand, slot, token.
    absl::flat_hash_map<Place, uint32_t> first;              // Of a chain of free users after.
    std::vector<std::pair<uint32_t, uint32_t>> chain;        // User, and the next in the chain.
    for (uint32_t a = after_.size(); a-- > 0;) {
      if (matching_.before[a] != kNone) continue;
      const auto operands = after_.Operands(a);
      for (uint32_t slot = 0; slot < operands.size(); ++slot) {
        const Place place = {operands[slot], slot, after_.rows[a].*token};
        const auto [it, added] = first.try_emplace(place, kNone);
        chain.emplace_back(a, it->second);
        it->second = static_cast<uint32_t>(chain.size() - 1);
      }
    }
    if (first.empty()) return;
    for (uint32_t b = 0; b < before_.size(); ++b) {
      if (matching_.after[b] != kNone) continue;
      const auto operands = before_.Operands(b);
      for (uint32_t slot = 0; slot < operands.size(); ++slot) {
        const uint32_t operand = matching_.after[operands[slot]];
        if (operand == kNone) continue;
        const auto found = first.find({operand, slot, before_.rows[b].*token});
        if (found == first.end()) continue;
        uint32_t& link = found->second;
        while (link != kNone && matching_.before[chain[link].first] != kNone) {
          link = chain[link].second;
        }
        if (link != kNone && Pair(b, chain[link].first)) break;
      }
    }
  }

  // What is left: by fields, in order where that can be told in time.
  void MatchRest() {
    const auto rest = [](const InstructionTable& table, const std::vector<uint32_t>& partners,
                         std::vector<uint32_t>* positions) {
      std::vector<uint64_t> tokens;
      for (uint32_t i = 0; i < table.size(); ++i) {
        if (partners[i] != kNone) continue;
        positions->push_back(i);
        tokens.push_back(table.rows[i].own);
      }
      return tokens;
    };
    std::vector<uint32_t> b, a;
    const std::vector<uint64_t> b_tokens = rest(before_, matching_.after, &b);
    const std::vector<uint64_t> a_tokens = rest(after_, matching_.before, &a);
    for (const auto& [i, k] : MatchSequences(b_tokens, a_tokens)) Pair(b[i], a[k]);
    absl::flat_hash_map<uint64_t, std::vector<uint32_t>> by_token;
    for (size_t k = a.size(); k-- > 0;) {
      if (matching_.before[a[k]] == kNone) by_token[a_tokens[k]].push_back(a[k]);
    }
    for (size_t i = 0; i < b.size(); ++i) {
      if (matching_.after[b[i]] != kNone) continue;
      const auto found = by_token.find(b_tokens[i]);
      if (found == by_token.end() || found->second.empty()) continue;
      Pair(b[i], found->second.back());
      found->second.pop_back();
    }
  }

  // What nobody uses, by opcode: nothing else tells what it was.
  void MatchSinks() {
    const auto sinks = [](const InstructionTable& table, const std::vector<uint32_t>& partners) {
      std::vector<bool> used(table.size());
      for (const uint32_t operand : table.operands) used[operand] = true;
      std::vector<uint32_t> positions;
      for (uint32_t i = 0; i < table.size(); ++i) {
        if (!used[i] && partners[i] == kNone) positions.push_back(i);
      }
      return positions;
    };
    MatchInOrder(sinks(before_, matching_.after), sinks(after_, matching_.before),
                 &InstructionTable::Row::opcode);
    Descend();
  }

  // Another opcode in the same place, and what is below it.
  void MatchReplaced() {
    Pair(before_.root, after_.root);
    for (uint32_t b = before_.size(); b-- > 0;) {
      Descend();
      const uint32_t a = matching_.after[b];
      if (a == kNone) continue;
      const auto b_operands = before_.Operands(b);
      const auto a_operands = after_.Operands(a);
      if (b_operands.size() != a_operands.size()) continue;
      for (size_t i = 0; i < b_operands.size(); ++i) {
        if (before_.rows[b_operands[i]].is_parameter == after_.rows[a_operands[i]].is_parameter) {
          Pair(b_operands[i], a_operands[i]);
        }
      }
    }
    Descend();
  }

  const InstructionTable& before_;
  const InstructionTable& after_;
  InstructionMatching matching_;
  std::vector<std::pair<uint32_t, uint32_t>> todo_;  // Pairs whose operands were not looked at yet.
};

}  // namespace

InstructionMatching MatchInstructions(const InstructionTable& before,
                                      const InstructionTable& after) {
  return Matcher(before, after).Run();
}

}  // namespace neffcache
