// neffcached: the cache daemon. Builds the parts from the store up, waits for a signal, and takes
// them down in reverse.

#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "local_compiler/program_search.h"
#include "server/embedded_workers.h"
#include "server/file_limit.h"
#include "server/flags.h"
#include "server/logging.h"
#include "server/misses/miss_explainer.h"
#include "server/rpc/server.h"
#include "server/scheduler/dispatcher.h"
#include "server/store/store.h"
#include "server/worker_environment.h"

namespace neffcache {
namespace {

constexpr absl::Duration kWorkerGrace = absl::Seconds(5);
constexpr absl::Duration kCallGrace = absl::Seconds(10);

// Leases must not end or last for ever because somebody set the clock.
absl::Time MonotonicNow() {
  static const absl::Time start = absl::Now();
  static const std::chrono::steady_clock::time_point steady_start =
      std::chrono::steady_clock::now();
  return start + absl::FromChrono(std::chrono::steady_clock::now() - steady_start);
}

// A listener out of descriptors stops accepting for good in this gRPC (CVE-2023-4785).
void EnsureFileLimit() {
  const uint64_t limit = RaiseFileLimit();
  if (limit >= kLowFileLimit) return;
  spdlog::warn(
      "event=low_file_limit limit={} wanted={} error=\"with as many connections the daemon stops "
      "accepting others until it is restarted; raise LimitNOFILE or ulimit -Hn\"",
      limit, kLowFileLimit);
}

// Blocked before any thread starts, so that only WaitForStop() sees them.
sigset_t BlockStopSignals() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return stop;
}

absl::Status WriteAddress(const std::string& path, const std::string& address) {
  if (path.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file.Write(absl::StrCat(address, "\n")));
  return file.Commit(Durability::kBuffered);
}

absl::StatusOr<std::unique_ptr<EmbeddedWorkers>> StartWorkers(const DaemonConfig& config,
                                                              const std::string& daemon) {
  if (config.workers == 0) return nullptr;
  EmbeddedWorkersOptions options;
  ASSIGN_OR_RETURN(const std::string directory, ProgramDirectory());
  options.program = directory + "/neffcache-worker";
  options.count = config.workers;
  options.daemon = daemon;
  options.toolchains = config.worker_toolchains;
  if (options.toolchains.empty()) {
    const char* path = std::getenv("PATH");
    options.toolchains = DefaultToolchains(path != nullptr ? path : "", directory);
  }
  options.memory_bytes =
      config.worker_memory_bytes > 0 ? config.worker_memory_bytes : MemoryPerWorker(config.workers);
  ASSIGN_OR_RETURN(options.scratch, PrepareScratch(config.worker_scratch, config.data_dir));
  return EmbeddedWorkers::Start(std::move(options));
}

void LogMiss(const Key& key, const Miss& miss) {
  const std::string nearest = miss.nearest.empty() ? "-" : miss.nearest.Hex();
  spdlog::info("event=miss key={} nearest={} why=\"{}\"", key.Hex(), nearest,
               absl::StrReplaceAll(miss.explanation, {{"\"", "'"}}));
}

// For scripts: one line on stdout.
absl::Status RebuildIndex(Store& store) {
  ASSIGN_OR_RETURN(const RebuildCounts counts, store.RebuildIndex());
  std::cout << "taken_up=" << counts.taken_up << " known=" << counts.known
            << " damaged=" << counts.damaged << std::endl;
  return absl::OkStatus();
}

// Lets the compiles that run come to their end. False when a second signal cut that short.
bool AwaitCompiles(CompileDispatcher& dispatcher, const sigset_t& stop, absl::Duration timeout) {
  std::stop_source hurry;
  std::jthread watcher([&stop, &hurry] {
    int signal = 0;
    sigwait(&stop, &signal);
    hurry.request_stop();
  });
  const bool drained = dispatcher.AwaitDrained(absl::Now() + timeout, hurry.get_token());
  const bool patient = !hurry.stop_requested();
  // Ends its sigwait(): the signal goes to it alone, and kills nothing.
  pthread_kill(watcher.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
  spdlog::info("event=drained complete={} running={}", drained, dispatcher.Count().running);
  return patient;
}

absl::Status Run(const DaemonConfig& config, const sigset_t& stop) {
  StoreOptions store_options;
  store_options.data_dir = config.data_dir;
  store_options.db_dir = config.db_dir;
  store_options.inline_limit = config.inline_limit_bytes;
  store_options.replace_damaged_database = config.rebuild_index;
  store_options.database_log = LogOfDatabase;
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, Store::Open(store_options));
  if (config.rebuild_index) return RebuildIndex(*store);

  MissExplainerOptions explainer_options;
  explainer_options.on_explained = LogMiss;
  MissExplainer explainer(*store, std::move(explainer_options));
  DispatcherOptions dispatcher_options;
  dispatcher_options.on_miss = [&explainer](const QueuedCompile& compile,
                                            absl::string_view reason) {
    explainer.NoteMiss(compile, reason);
  };
  dispatcher_options.on_entry = [&explainer](const Entry& entry) { explainer.NoteEntry(entry); };
  dispatcher_options.clock = MonotonicNow;
  dispatcher_options.heartbeat_interval = config.heartbeat_interval;
  dispatcher_options.compile_time_limit = config.compile_time_limit;
  dispatcher_options.failure_ttl = config.failure_ttl;
  dispatcher_options.log = LogOfQueue;
  ASSIGN_OR_RETURN(const std::unique_ptr<CompileDispatcher> dispatcher,
                   CompileDispatcher::Open(*store, dispatcher_options));

  ServerOptions server_options;
  server_options.listen = config.listen;
  server_options.limits.graph_bytes = config.graph_limit_bytes;
  server_options.limits.heartbeat_interval = config.heartbeat_interval;
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                   Server::Start(server_options, *store, *dispatcher));
  ASSIGN_OR_RETURN(const std::unique_ptr<EmbeddedWorkers> workers,
                   StartWorkers(config, server->local_address()));
  RETURN_IF_ERROR(WriteAddress(config.address_file, server->address()));
  spdlog::info("event=listening address={} data_dir=\"{}\" workers={} version={}",
               server->address(), config.data_dir, config.workers, NEFFCACHE_VERSION);

  int signal = 0;
  sigwait(&stop, &signal);
  spdlog::info("event=draining signal={} running={} timeout={}", signal,
               dispatcher->Count().running, absl::FormatDuration(config.drain_timeout));
  server->SetNotServing();
  if (workers != nullptr) workers->Retire();
  dispatcher->Drain();
  const bool patient = AwaitCompiles(*dispatcher, stop, config.drain_timeout);
  // A further signal kills: the store bears it, and the workers end with us.
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  dispatcher->Shutdown();
  if (workers != nullptr) workers->Stop(patient ? kWorkerGrace : absl::ZeroDuration());
  server->Shutdown(absl::Now() + (patient ? kCallGrace : absl::ZeroDuration()));
  if (!config.address_file.empty()) unlink(config.address_file.c_str());
  spdlog::info("event=stopped");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  // Debian's Abseil is built with its lock-order checker on, which aborts; only tests want that.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const absl::variant<DaemonConfig, ExitNow> flags = ReadFlags(argc, argv);
  if (const ExitNow* exit = absl::get_if<ExitNow>(&flags)) return exit->status;
  const DaemonConfig& config = absl::get<DaemonConfig>(flags);
  StartLogging(config.log_level);
  const sigset_t stop = BlockStopSignals();
  EnsureFileLimit();
  MonotonicNow();  // The clock starts here.

  const absl::Status ran = Run(config, stop);
  if (ran.ok()) return EXIT_SUCCESS;
  std::cerr << "neffcached: " << ran.message() << "\n";
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace neffcache

int main(int argc, char** argv) {
  return neffcache::Main(argc, argv);
}
