#include "server/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/config_sections.h"
#include "server/logging.h"
#include "server/rpc/listen_address.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

constexpr int kUsage = 2;
// What neffcache-worker has; a typing error must not make workers that end again and again.
constexpr absl::string_view kWorkerToolchains[] = {"neuronx-cc", "xla-cpu", "auto"};

// As typed; checked together, so that all mistakes are reported at once.
struct RawFlags {
  std::string data_dir;
  std::string db_dir;
  std::string listen = "127.0.0.1:7433";
  bool insecure_allow_remote = false;
  std::string address_file;
  std::string log_level = "info";
  bool rebuild_index = false;
  std::string workers = "1";
  std::vector<std::string> worker_toolchains;
  std::string worker_memory;
  std::string worker_scratch;
  std::string inline_limit = "1MiB";
  std::string graph_limit = "8GiB";
  std::string failure_ttl = "24h";
  std::string compile_time_limit = "6h";
  std::string heartbeat_interval = "5s";
  std::string drain_timeout = "20s";
};

void Declare(CLI::App& app, RawFlags& raw) {
  app.add_option("--data-dir", raw.data_dir, "Directory of the store: artifacts, records, index.");
  app.add_option(
      "--db-dir", raw.db_dir,
      "Directory of the index, on a local disk when --data-dir is a network file system.");
  app.add_option("--listen", raw.listen, "HOST:PORT to serve on; port 0 takes a free one.")
      ->capture_default_str();
  app.add_flag("--insecure-allow-remote", raw.insecure_allow_remote,
               "Serve other machines without TLS: whoever reaches the port can publish.");
  app.add_option("--address-file", raw.address_file,
                 "File to write the address to once it is served.");
  app.add_option("--workers", raw.workers, "Compile workers to run on this machine.")
      ->capture_default_str();
  app.add_option("--worker-toolchain", raw.worker_toolchains,
                 "Toolchain of these workers; may be repeated. Default: neuronx-cc where it is "
                 "installed, else xla-cpu.");
  app.add_option("--worker-memory", raw.worker_memory,
                 "Memory that the compiles of one such worker may use, e.g. 64GB. Default: the "
                 "machine's, divided by the workers.");
  app.add_option("--worker-scratch", raw.worker_scratch,
                 "Node-local directory to compile in. Default: $TMPDIR or /var/tmp.");
  app.add_option("--inline-limit", raw.inline_limit,
                 "Larger artifacts are kept as files, smaller ones in the index.")
      ->capture_default_str();
  app.add_option("--graph-limit", raw.graph_limit, "Largest graph taken, uncompressed.")
      ->capture_default_str();
  app.add_option("--failure-ttl", raw.failure_ttl, "How long a compiler's refusal is remembered.")
      ->capture_default_str();
  app.add_option("--compile-time-limit", raw.compile_time_limit,
                 "Wall clock after which a compile is killed.")
      ->capture_default_str();
  app.add_option("--heartbeat-interval", raw.heartbeat_interval,
                 "How often workers report; three missed ones end their leases.")
      ->capture_default_str();
  app.add_option("--drain-timeout", raw.drain_timeout,
                 "How long SIGTERM lets running compiles come to their end and be stored; a second "
                 "one ends at once.")
      ->capture_default_str();
  app.add_option("--log-level", raw.log_level, "trace, debug, info, warning, error, critical, off.")
      ->capture_default_str();
  app.add_flag("--rebuild-index", raw.rebuild_index,
               "Take up the entries of record files that the index lacks, and end: for an index "
               "that was lost. A damaged one is put aside first.")
      ->configurable(false);
  AddConfigOption(app);
  ReadOwnConfigSection(app, "neffcached");
  app.set_version_flag("--version", absl::StrCat("neffcached ", NEFFCACHE_VERSION));
}

// Collects every mistake instead of stopping at the first.
class Checker {
 public:
  void Fail(absl::string_view flag, absl::string_view what) {
    mistakes_.push_back(absl::StrCat("--", flag, ": ", what));
  }
  void Take(absl::string_view flag, const absl::Status& status) {
    if (!status.ok()) Fail(flag, status.message());
  }

  uint64_t Bytes(absl::string_view flag, const std::string& text, uint64_t min, uint64_t max) {
    uint64_t value = 0;
    if (!ParseBytes(text, value)) {
      Fail(flag, absl::StrCat("\"", text, "\" is not a size; write 64GB, 512MiB or a number"));
    } else if (value < min || value > max) {
      Fail(flag, absl::StrCat("\"", text, "\" must be between ", min, " and ", max, " bytes"));
    }
    return value;
  }

  absl::Duration Time(absl::string_view flag, const std::string& text, absl::Duration min) {
    absl::Duration value;
    if (!absl::ParseDuration(text, &value) || value == absl::InfiniteDuration()) {
      Fail(flag, absl::StrCat("\"", text, "\" is not a duration; write 30s, 10m or 24h"));
    } else if (value < min) {
      Fail(flag, absl::StrCat("\"", text, "\" must be at least ", absl::FormatDuration(min)));
    }
    return value;
  }

  uint32_t Count(absl::string_view flag, const std::string& text, uint32_t max) {
    uint32_t value = 0;
    if (!absl::SimpleAtoi(text, &value) || value > max) {
      Fail(flag, absl::StrCat("\"", text, "\" must be a number from 0 to ", max));
    }
    return value;
  }

  const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
  // As neffcache-worker reads them: 1 KB is 1 KiB, and so on.
  static bool ParseBytes(const std::string& text, uint64_t& value) {
    constexpr absl::string_view kUnits[] = {"k", "m", "g", "t"};
    const size_t digits = text.find_first_not_of("0123456789.");
    const std::string number = text.substr(0, digits);
    const std::string unit =
        absl::AsciiStrToLower(digits == std::string::npos ? "" : text.substr(digits));
    double scale = unit.empty() || unit == "b" ? 1 : 0;
    for (size_t i = 0; i < std::size(kUnits); ++i) {
      const absl::string_view one = kUnits[i];
      if (unit == one || unit == absl::StrCat(one, "b") || unit == absl::StrCat(one, "ib")) {
        scale = std::ldexp(1.0, 10 * static_cast<int>(i + 1));
      }
    }
    double parsed = 0;
    if (scale == 0 || number.empty() || !absl::SimpleAtod(number, &parsed)) return false;
    const double bytes = parsed * scale;
    if (bytes > 9e18) return false;
    value = static_cast<uint64_t>(bytes);
    return true;
  }

  std::vector<std::string> mistakes_;
};

DaemonConfig Check(const RawFlags& raw, Checker& check) {
  DaemonConfig config;
  config.data_dir = raw.data_dir;
  if (config.data_dir.empty()) check.Fail("data-dir", "is required");
  config.db_dir = raw.db_dir;
  config.address_file = raw.address_file;
  config.log_level = raw.log_level;
  config.rebuild_index = raw.rebuild_index;
  check.Take("log-level", CheckLogLevel(raw.log_level));

  config.listen = raw.listen;
  const absl::StatusOr<ListenAddress> address = ListenAddress::Parse(raw.listen);
  check.Take("listen", address.status());
  if (address.ok() && !raw.insecure_allow_remote && !address->IsLoopback()) {
    check.Fail("listen", absl::StrCat("\"", raw.listen,
                                      "\" is not a loopback address and there is no TLS; "
                                      "--insecure-allow-remote serves it all the same"));
  }

  config.workers = check.Count("workers", raw.workers, 1024);
  config.worker_toolchains = raw.worker_toolchains;
  for (const std::string& name : raw.worker_toolchains) {
    if (std::find(std::begin(kWorkerToolchains), std::end(kWorkerToolchains), name) ==
        std::end(kWorkerToolchains)) {
      check.Fail("worker-toolchain", absl::StrCat("unknown toolchain \"", name, "\"; known are ",
                                                  absl::StrJoin(kWorkerToolchains, ", ")));
    }
  }
  if (!raw.worker_memory.empty()) {
    config.worker_memory_bytes =
        check.Bytes("worker-memory", raw.worker_memory, uint64_t{1} << 20, uint64_t{1} << 50);
  }
  config.worker_scratch = raw.worker_scratch;

  config.inline_limit_bytes = check.Bytes("inline-limit", raw.inline_limit, 0, kMaxInlineArtifact);
  config.graph_limit_bytes =
      check.Bytes("graph-limit", raw.graph_limit, uint64_t{1} << 10, uint64_t{1} << 40);
  config.failure_ttl = check.Time("failure-ttl", raw.failure_ttl, absl::ZeroDuration());
  config.compile_time_limit =
      check.Time("compile-time-limit", raw.compile_time_limit, absl::Seconds(1));
  config.heartbeat_interval =
      check.Time("heartbeat-interval", raw.heartbeat_interval, absl::Milliseconds(50));
  config.drain_timeout = check.Time("drain-timeout", raw.drain_timeout, absl::ZeroDuration());
  return config;
}

}  // namespace

absl::variant<DaemonConfig, ExitNow> ReadFlags(int argc, const char* const* argv) {
  CLI::App app("The neffcache daemon: compiles each graph once and serves the result.",
               "neffcached");
  RawFlags raw;
  Declare(app, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" of code 0; CLI11's other codes mean nothing to our callers.
    if (error.get_exit_code() == 0) return ExitNow{app.exit(error, std::cout, std::cerr)};
    std::cerr << "neffcached: " << ParseErrorText(app, error) << "\n";
    return ExitNow{kUsage};
  }
  Checker check;
  DaemonConfig config = Check(raw, check);
  if (check.mistakes().empty()) return config;
  for (const std::string& mistake : check.mistakes()) {
    std::cerr << "neffcached: " << mistake << "\n";
  }
  return ExitNow{kUsage};
}

}  // namespace neffcache
