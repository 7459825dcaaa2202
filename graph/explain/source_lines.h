#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/hlo_index.h"

namespace neffcache {

// Where in a program an instruction came from.
struct SourceLine {
  std::string file;  // As the tracer wrote it, printable; empty when unknown.
  int64_t line = 0;  // 0 when unknown.
};

// Finds source lines in instructions' metadata: written there, or in the module's table of stack
// frames. The module's bytes must outlive it. Not thread-safe.
class SourceLines {
 public:
  explicit SourceLines(absl::string_view module) : module_(module) {}

  SourceLine Of(const InstructionRecord& instruction);

 private:
  struct Pair {
    int64_t first = 0;   // A location's file, a frame's location; from 1.
    int64_t second = 0;  // A location's line.
  };
  void ReadStackFrames();

  const absl::string_view module_;
  bool read_ = false;
  std::vector<absl::string_view> files_;
  std::vector<Pair> locations_;
  std::vector<Pair> frames_;
};

}  // namespace neffcache
