#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "neffcache/client.h"

namespace neffcache::shim {

// What the environment tells the shim. The command line belongs to the compiler, so there are no
// flags of ours.
struct Settings {
  bool disabled = false;  // NEFFCACHE_DISABLE: not empty and not "0".
  bool verbose = false;   // NEFFCACHE_VERBOSE: also say why a call was handed to the real compiler.
  std::string daemon = "127.0.0.1:7433";  // NEFFCACHE_DAEMON
  std::string bundle;                     // NEFFCACHE_BUNDLE
  absl::Duration wait = absl::Hours(2);   // NEFFCACHE_WAIT: "90s", "2h" or a number of seconds.
  // NEFFCACHE_RECONNECT, as NEFFCACHE_WAIT; "0": a daemon that goes away is not waited for.
  absl::Duration reconnect = ClientOptions().reconnect_timeout;
  std::string toolchain_version;  // NEFFCACHE_TOOLCHAIN_VERSION: where there is no
                                  // compiler to ask.
  int depth = 0;          // NEFFCACHE_SHIM_DEPTH: how many shims this call has come through.
  std::string complaint;  // Of values that were not understood and are not followed; empty: none.
};

// How deep shims may nest before the search for the real compiler is taken for circular.
inline constexpr int kMaxDepth = 3;
inline constexpr char kDepthVariable[] = "NEFFCACHE_SHIM_DEPTH";

// Reads the settings through `get`, which gives null for a variable that is not set. Never fails: a
// value that makes no sense leaves the default in place and is complained of.
Settings ReadSettings(absl::FunctionRef<const char*(const char*)> get);

}  // namespace neffcache::shim
