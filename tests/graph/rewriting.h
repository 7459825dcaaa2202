#pragma once

// Rewritings of a module that keep its meaning, and the ways they are drawn at random.

#include <random>

#include "tests/graph/proto_tree.h"

namespace neffcache {

enum class IdScheme {
  kUnique,           // One counter for the whole module, in steps.
  kFullReferences,   // (computation << 32) | local, operands in full.
  kLocalReferences,  // The same, operands by their local half.
};

void RenameEverything(ProtoMessage& module, std::mt19937_64& random);
void Renumber(ProtoMessage& module, IdScheme scheme, std::mt19937_64& random);
void ReplaceMetadata(ProtoMessage& module, std::mt19937_64& random);
// Any order in which operands still stand before their users.
void ShuffleInstructions(ProtoMessage& module, std::mt19937_64& random);
void ShuffleComputations(ProtoMessage& module, std::mt19937_64& random);
// Maps, and the sets of aliases, donors and control predecessors.
void ShuffleSets(ProtoMessage& module, std::mt19937_64& random);

}  // namespace neffcache
