#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/variant.h"

namespace neffcache {

// What neffcached runs with, checked.
struct DaemonConfig {
  std::string data_dir;
  std::string db_dir;  // Empty: inside data_dir.
  std::string listen;
  std::string address_file;  // Empty: none.
  std::string log_level;
  bool rebuild_index = false;  // Instead of serving.

  uint32_t workers = 1;
  std::vector<std::string> worker_toolchains;  // Empty: choose by what is installed.
  uint64_t worker_memory_bytes = 0;            // Of each worker; 0: a share of the machine's.
  std::string worker_scratch;                  // Node-local; empty: TMPDIR or /var/tmp.

  uint64_t inline_limit_bytes = 0;
  uint64_t graph_limit_bytes = 0;
  absl::Duration failure_ttl;
  absl::Duration compile_time_limit;
  absl::Duration heartbeat_interval;
  absl::Duration drain_timeout;  // What a stop waits for running compiles.
};

// The program is to end with this status; what there was to say is said.
struct ExitNow {
  int status = 0;
};

// Reads the configuration from the command line, the environment (NEFFCACHE_CONFIG) and a config
// file, in this order of precedence. All mistakes in values are reported at once on stderr, one
// line each, and end the program with status 2.
absl::variant<DaemonConfig, ExitNow> ReadFlags(int argc, const char* const* argv);

}  // namespace neffcache
