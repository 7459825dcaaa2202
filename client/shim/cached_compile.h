#pragma once

#include <functional>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "graph/command_line.h"
#include "neffcache/client.h"

namespace neffcache::shim {

// The ways in which asking the cache can end.

// The verified artifact is at the output.
struct Served {
  std::string log_text;  // What the compiler's log should say instead.
};

// The compiler failed elsewhere and would fail here in the same way.
struct RepeatedFailure {
  int exit_code = 70;  // Of no meaning when there is a signal.
  int signal = 0;
  std::string output;  // What the compiler printed, both streams as they came.
};

// Whom a reason is for.
enum class Audience {
  kUser,     // Worth a line on stderr: the cache is not doing its work.
  kVerbose,  // Not ours to cache; of interest to who looks for it.
};

// The cache is of no help; the real compiler is.
struct CompileHere {
  std::string reason;  // One clause.
  Audience audience = Audience::kUser;
};

// Not even the compiler could write the output.
struct Hopeless {
  std::string reason;
};

using Ending = std::variant<Served, RepeatedFailure, CompileHere, Hopeless>;

struct CachedCompileOptions {
  CommandLine command_line;  // A plain compile.
  std::string toolchain_version;
  std::string bundle;
  std::string daemon;         // For messages.
  absl::Duration wait;        // For the whole compile.
  absl::Duration reconnect;   // The client's: a download may wait as long for a lost daemon.
  bool have_compiler = true;  // False: nothing here can compile, so that waiting for a worker and
                              // passing on any failure are better than giving up.
  // Called whenever there is a sign of life. The next one, or the end, comes within `limit` unless
  // something hangs.
  std::function<void(absl::Duration limit)> on_alive = [](absl::Duration) {};
  // What the daemon tells of the compile that is waited for.
  std::function<void(const CompileProgress&)> on_progress = [](const CompileProgress&) {};
};

// Gets the artifact of a command line into its output, or says why not. Never leaves part of an
// output behind, never throws, and ends: `wait` bounds the compile, the client's own deadlines the
// rest.
Ending CompileThroughCache(Client& client, const CachedCompileOptions& options);

}  // namespace neffcache::shim
