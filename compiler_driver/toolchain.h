#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler_driver/failure.h"

namespace neffcache {

struct CompilerCommand {
  std::vector<std::string> argv;       // argv[0] is the compiler's path.
  std::vector<std::string> log_files;  // What it writes beside its output, in its directory.
};

// One kind of compiler, as installed on this machine. Stateless after construction: any thread may
// call any of these at any time.
class CompilerToolchain {
 public:
  virtual ~CompilerToolchain() = default;

  // "neuronx-cc": the name that keys carry.
  virtual absl::string_view name() const = 0;

  // Asks the compiler for its full version, build hash included. Runs it, in `directory`: seconds.
  virtual absl::StatusOr<std::string> Probe(const std::string& directory,
                                            const std::stop_token& stop) const = 0;

  // Changes whenever the installed compiler may have: a cheap look at the files that an upgrade
  // replaces. Empty when files cannot tell: the compiler has gone, or starts what cannot be
  // followed. Then only asking it helps.
  virtual std::string InstallationStamp() const = 0;

  // File name that the graph gets in the compile's directory; the compiler looks at its ending.
  virtual std::string graph_file_name() const = 0;
  virtual std::string output_file_name() const = 0;

  // The command that compiles the graph there, to be run in that directory.
  virtual CompilerCommand CommandFor(absl::Span<const std::string> options) const = 0;

  // What an output must pass beyond being a non-empty file. Says what is wrong otherwise.
  virtual absl::Status CheckOutput(const std::string& path,
                                   absl::Span<const std::string> options) const = 0;

  virtual CompileFailure Classify(const FailureEvidence& evidence) const = 0;
};

}  // namespace neffcache
