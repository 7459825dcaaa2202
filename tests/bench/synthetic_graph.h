#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace neffcache::bench {

// Serialized HloModuleProtos of about `bytes` bytes, written at the wire level: the schema is
// XLA's, and neffcache does not link it. Well-formed, so that the canonical form is taken.

// A few large f32 constants: what a graph with its weights baked in looks like.
std::string LiteralHeavyGraph(uint64_t bytes);

// The same with one literal of zeros, written to `path` as a file with a hole: any size costs no
// disk.
absl::Status WriteSparseLiteralGraph(const std::string& path, uint64_t bytes);

// Very many small instructions with names, shapes, metadata and operands: an unrolled training
// step.
std::string InstructionHeavyGraph(uint64_t bytes);

}  // namespace neffcache::bench
