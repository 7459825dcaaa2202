#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "compiler_driver/child_process.h"
#include "compiler_driver/failure.h"
#include "compiler_driver/toolchain.h"
#include "io/digest.h"

namespace neffcache {

struct CompileJob {
  std::string directory;             // Private to this compile; holds toolchain.graph_file_name().
  std::vector<std::string> options;  // Normalized.
  std::vector<std::string> environment;
  ChildLimits limits;  // limits.output_bytes is the largest artifact.
};

// An output that has passed every check.
struct CompiledArtifact {
  std::string path;
  Digest digest;
  uint64_t size = 0;
};

struct CompileOutcome {
  std::variant<CompiledArtifact, CompileFailure> result;
  std::string log;  // What the compiler printed and what it wrote to its log files; bounded.
  // The end of what it printed, UTF-8, at most 64 KiB: what a caller replays on stderr.
  std::string log_tail;
  absl::Duration compile_time;
  uint64_t peak_memory_bytes = 0;

  const CompiledArtifact* artifact() const { return std::get_if<CompiledArtifact>(&result); }
};

// Compiles the graph in job.directory with `toolchain` and checks the output: it exists, is not
// empty, is no larger than the limit, passes the toolchain's check, and has been hashed. Blocks
// until the compiler's whole tree has ended; `stop` kills it. Thread-safe.
CompileOutcome RunCompile(const CompilerToolchain& toolchain, const CompileJob& job,
                          const std::stop_token& stop, ChildProgress* progress);

}  // namespace neffcache
