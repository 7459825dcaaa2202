// neffcache-worker: leases compiles from a daemon and runs the compiler.

#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "compiler_driver/child_environment.h"
#include "compiler_driver/offered_toolchain.h"
#include "compiler_driver/scratch.h"
#include "compiler_driver/stop_signals.h"
#include "compiler_driver/toolchain_table.h"
#include "compiler_driver/worker.h"
#include "config/config_sections.h"
#include "io/status_macros.h"
#include "local_compiler/program_search.h"
#include "local_compiler/usable_memory.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr unsigned kKillLimitSeconds = 30;
constexpr absl::string_view kAuto = "auto";

struct Flags {
  std::string daemon = "127.0.0.1:7433";
  std::string name;
  std::vector<std::string> toolchains = {std::string(kAuto)};
  std::string neuronx_cc;
  std::string xla_cpu;
  uint32_t slots = std::max(1u, std::thread::hardware_concurrency());
  uint64_t memory = UsableMemory() / 10 * 9;
  uint64_t address_space = 0;
  std::string scratch = std::filesystem::temp_directory_path().string();
  std::string idle_exit;
  std::vector<std::string> pass_environment;
  bool embedded = false;
  pid_t parent = 0;
};

std::string DefaultName() {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return absl::StrCat(host[0] == '\0' ? "worker" : host, ":", getpid());
}

std::string EnvironmentVariable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

void Declare(CLI::App& app, Flags& flags) {
  const auto size = CLI::AsSizeValue(/*kb_is_1000=*/false);
  app.add_option("--daemon", flags.daemon, "Address of the daemon to work for.")
      ->envname("NEFFCACHE_DAEMON")
      ->capture_default_str();
  app.add_option("--toolchain", flags.toolchains,
                 absl::StrCat("Compilers to offer: ", absl::StrJoin(ToolchainNames(), ", "),
                              "; or auto, for each that is installed here."))
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--neuronx-cc", flags.neuronx_cc,
                 "Path of neuronx-cc. Default: the first on PATH that is not our shim.")
      ->envname("NEFFCACHE_REAL_CC");
  app.add_option("--xla-cpu", flags.xla_cpu,
                 "Path of xla-cpu-compile. Default: beside this program's installation.");
  app.add_option("--slots", flags.slots, "Compiles at a time.")
      ->check(CLI::Range(1u, 4096u))
      ->capture_default_str();
  app.add_option("--memory", flags.memory,
                 "What compiles may use together, e.g. 64GB. Default: nine tenths of what this "
                 "machine or cgroup has.")
      ->transform(size);
  app.add_option("--address-space", flags.address_space,
                 "RLIMIT_AS of each compiler process, e.g. 200GB. Default: none.")
      ->transform(size);
  app.add_option("--scratch", flags.scratch, "Node-local directory for the compilers' files.")
      ->capture_default_str();
  app.add_option("--idle-exit", flags.idle_exit,
                 "Leave after so long without a compile, e.g. 10m. Default: never.");
  app.add_option("--name", flags.name, "Unique name. Default: HOST:PID.");
  app.add_option("--pass-env", flags.pass_environment,
                 "Environment variables that compilers get besides the usual ones; a trailing * "
                 "stands for any ending.")
      ->delimiter(',')
      ->envname("NEFFCACHE_PASS_ENV");
  CLI::Option* const embedded =
      app.add_flag("--embedded", flags.embedded, "Started by a daemon, to die with it.");
  app.add_option("--parent-pid", flags.parent, "The daemon's process, with --embedded.")
      ->needs(embedded);
}

// Checks all values; the message has a line for each mistake.
absl::StatusOr<WorkerOptions> OptionsFrom(const Flags& flags) {
  WorkerOptions options;
  std::vector<std::string> mistakes;
  options.daemon = flags.daemon;
  options.name = flags.name.empty() ? DefaultName() : flags.name;
  if (options.name.size() > kMaxNameBytes) {
    mistakes.push_back(
        absl::StrCat("--name has ", options.name.size(), " bytes, at most ", kMaxNameBytes));
  }
  const std::vector<std::string> known = ToolchainNames();
  for (const std::string& name : flags.toolchains) {
    if (name == kAuto || std::find(known.begin(), known.end(), name) != known.end()) continue;
    mistakes.push_back(absl::StrCat("--toolchain: unknown toolchain \"", name, "\"; known are ",
                                    absl::StrJoin(known, ", "), ", ", kAuto));
  }
  options.slots = flags.slots;
  options.memory_bytes = flags.memory;
  if (options.memory_bytes == 0) {
    mistakes.emplace_back("--memory is 0; say what compiles may use, e.g. 64GB");
  }
  options.embedded = flags.embedded;
  if (!flags.idle_exit.empty() && (!absl::ParseDuration(flags.idle_exit, &options.idle_exit) ||
                                   options.idle_exit <= absl::ZeroDuration())) {
    mistakes.push_back(
        absl::StrCat("--idle-exit \"", flags.idle_exit, "\" is no duration such as 10m or 90s"));
  }
  options.compiles.pass_environment = flags.pass_environment;
  options.compiles.address_space_bytes = flags.address_space;
  if (mistakes.empty()) return options;
  return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
}

absl::StatusOr<std::unique_ptr<OfferedToolchain>> ProbeOne(absl::string_view name,
                                                           const ToolchainSettings& settings,
                                                           const std::string& directory) {
  ASSIGN_OR_RETURN(std::unique_ptr<CompilerToolchain> compiler, MakeToolchain(name, settings));
  ASSIGN_OR_RETURN(std::unique_ptr<OfferedToolchain> offered,
                   OfferedToolchain::Probe(std::move(compiler), directory, std::stop_token()));
  spdlog::info("offering {} {}", std::string(name), offered->version());
  return offered;
}

// A toolchain that was asked for by name must work; of "auto" at least one.
absl::StatusOr<std::vector<std::unique_ptr<OfferedToolchain>>> ProbeToolchains(
    const Flags& flags, const std::string& directory) {
  ToolchainSettings settings;
  settings.neuronx_cc = flags.neuronx_cc;
  settings.xla_cpu = flags.xla_cpu;
  settings.path = EnvironmentVariable("PATH");
  ASSIGN_OR_RETURN(settings.program_directory, ProgramDirectory());
  settings.environment = CompilerEnvironment(environ, flags.pass_environment, {});

  std::vector<std::string> wanted = flags.toolchains;
  const bool by_name = std::find(wanted.begin(), wanted.end(), kAuto) == wanted.end();
  if (!by_name) wanted = ToolchainNames();
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());

  std::vector<std::unique_ptr<OfferedToolchain>> offered;
  std::vector<std::string> failures;
  for (const std::string& name : wanted) {
    absl::StatusOr<std::unique_ptr<OfferedToolchain>> one = ProbeOne(name, settings, directory);
    if (one.ok()) {
      offered.push_back(*std::move(one));
    } else if (by_name) {
      return one.status();
    } else {
      failures.push_back(absl::StrCat(name, ": ", one.status().message()));
    }
  }
  if (!offered.empty()) return offered;
  return absl::NotFoundError(
      absl::StrCat("no compiler works on this machine (", absl::StrJoin(failures, "; "), ")"));
}

absl::Status Work(const Flags& flags, const StopSignals& signals) {
  ASSIGN_OR_RETURN(WorkerOptions options, OptionsFrom(flags));
  ASSIGN_OR_RETURN(ScratchRoot scratch, ScratchRoot::Open(flags.scratch));
  const std::string shared = SharedFileSystem(scratch.path());
  if (!shared.empty()) {
    spdlog::warn(
        "scratch directory {} is on {}: compilers are slow there and some fail; name a "
        "node-local one with --scratch",
        scratch.path(), shared);
  }
  ASSIGN_OR_RETURN(auto toolchains, ProbeToolchains(flags, scratch.path()));
  Worker worker(std::move(options), std::move(scratch), std::move(toolchains));

  absl::Status result;
  Fd done(eventfd(0, EFD_CLOEXEC));
  std::jthread runner([&] {
    result = worker.Run();
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(done.get(), &one, sizeof one);
  });
  bool leaving = false;
  while (signals.Await(done.get()) == StopSignals::Event::kSignal) {
    const bool orphaned = flags.parent != 0 && getppid() != flags.parent;
    if (leaving || orphaned) {
      spdlog::info("killing what runs and leaving");
      worker.Kill();
      // Should that hang: our end is the end of every compiler (supervisor.h).
      alarm(kKillLimitSeconds);
    } else {
      spdlog::info("leaving when the running compiles have ended; a second signal kills them");
      worker.Leave();
    }
    leaving = true;
  }
  runner.join();
  return result;
}

int Main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  Flags flags;
  CLI::App app("Leases compiles from a neffcache daemon and runs the compiler.",
               "neffcache-worker");
  app.set_version_flag("--version", std::string("neffcache-worker ") + NEFFCACHE_VERSION);
  Declare(app, flags);
  // A daemon tells its own workers all on the command line: its config file is not theirs.
  const bool embedded = std::find(argv, argv + argc, std::string("--embedded")) != argv + argc;
  if (!embedded) AddConfigOption(app);
  ReadOwnConfigSection(app, "neffcache-worker");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << "neffcache-worker: " << ParseErrorText(app, error) << "\n";
    return kExitUsage;
  }
  spdlog::set_default_logger(spdlog::stderr_color_mt("neffcache-worker"));

  const absl::StatusOr<StopSignals> signals = StopSignals::Take();
  if (!signals.ok()) {
    spdlog::error("{}", std::string(signals.status().message()));
    return kExitFailed;
  }
  if (flags.embedded) {
    // The daemon may have died before this took effect.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (flags.parent != 0 && getppid() != flags.parent) return kExitFailed;
  }
  const absl::Status worked = Work(flags, *signals);
  if (worked.ok()) return EXIT_SUCCESS;
  for (const absl::string_view line : absl::StrSplit(worked.message(), '\n')) {
    spdlog::error("{}", std::string(line));
  }
  return absl::IsInvalidArgument(worked) ? kExitUsage : kExitFailed;
}

}  // namespace
}  // namespace neffcache

int main(int argc, char** argv) {
  return neffcache::Main(argc, argv);
}
