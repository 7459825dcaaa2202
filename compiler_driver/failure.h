#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "compiler_driver/child_process.h"

namespace neffcache {

// What the daemon does after a failed compile hangs on this (DESIGN §6.5, types.proto).
enum class CompileFailureClass { kDeterministic, kMemory, kTransient, kUnclear };

absl::string_view ToString(CompileFailureClass failure_class);

// Why a compile gave no artifact.
struct CompileFailure {
  CompileFailureClass failure_class = CompileFailureClass::kUnclear;
  std::string message;  // One clause with the evidence. UTF-8, at most 1 KiB.
  int exit_code = -1;   // -1 when it ended by a signal or was never started.
  int signal = 0;
};

// All that is known about a compile that did not succeed.
struct FailureEvidence {
  std::string program;   // "neuronx-cc", for messages.
  ChildResult child;     // How the process ended; child.log is its output.
  std::string log_file;  // The end of the compiler's own log file; may be empty.
  // After exit 0: what is wrong with the output (missing, cut off, not a NEFF).
  absl::Status output_error;
};

// Decides the class of a failure. Where evidence points two ways, the less lasting class wins: a
// remembered failure blocks every trainer that asks for the key, a retry only costs a compile.
// So: memory, then environment, and only then what the compiler said about the graph.
// Pure.
CompileFailure ClassifyFailure(const FailureEvidence& evidence);

}  // namespace neffcache
