#pragma once

// Modules drawn at random, to be rewritten and changed.

#include <random>

#include "tests/graph/proto_tree.h"

namespace neffcache {

// A well-formed module of one to five computations with up to some dozens of instructions: shared
// and equal operands, dead code, control predecessors, calls, literals, attributes of many kinds, a
// schedule now and then. Equal arguments and generators give equal modules.
ProtoMessage RandomModule(std::mt19937_64& random);

}  // namespace neffcache
