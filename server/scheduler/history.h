#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/store/entry.h"

namespace neffcache {

// What one compile is expected to take.
struct Expectation {
  uint64_t memory_bytes = 0;  // Peak resident set of the compiler's process tree.
  absl::Duration duration;
};

// Expects memory and duration of compiles from those that ended.
//
// Compiles are told apart by toolchain (all versions of one name share what is known until a
// version has results of its own) and by the size of the graph, two classes to a doubling. Where
// nothing was seen, a table of published figures answers; it errs towards too much memory, because
// a compile killed for memory costs more than one that waits. A few results replace the table.
//
// Not thread-safe. Pure.
class CompileHistory {
 public:
  Expectation Expect(const Toolchain& toolchain, const GraphRecord& graph) const;

  // Notes a compile that succeeded. Zeros (unknown) are passed over.
  void Learn(const Toolchain& toolchain, const GraphRecord& graph, uint64_t peak_memory_bytes,
             absl::Duration compile_time);

 private:
  struct Seen {
    uint32_t count = 0;
    double peak_memory_bytes = 0;  // A maximum that decays.
    double seconds = 0;            // A mean that decays.
  };
  using ToolchainName = std::pair<std::string, std::string>;  // Version empty: all versions.

  const Seen* Find(const Toolchain& toolchain, int size_class) const;

  absl::flat_hash_map<std::pair<ToolchainName, int>, Seen> seen_;
};

}  // namespace neffcache
