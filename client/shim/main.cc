// neuronx-cc: stands in for the compiler of that name on a trainer's PATH.
//
// A plain compile is answered from the cache; everything else, and any trouble, becomes the real
// compiler with the untouched command line (the same process, so that signals, exit status and
// output are the compiler's own).

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/local_toolchain.h"
#include "client/shim/cached_compile.h"
#include "client/shim/compiler_output.h"
#include "client/shim/last_resort.h"
#include "client/shim/settings.h"
#include "client/shim/wait_notice.h"
#include "graph/command_line.h"
#include "neffcache/client.h"

namespace neffcache::shim {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(2);
constexpr absl::Duration kStartLimit = absl::Seconds(10);
constexpr absl::Duration kSilenceTimeout = absl::Seconds(30);
// As a shell ends for a command that it cannot find.
constexpr int kNoCompilerExit = 127;
// The compiler's exit status for any error of its own.
constexpr int kCompilerErrorExit = 70;

// Says one line, whatever the message holds.
void Say(absl::string_view message) {
  std::string line = absl::StrCat("neffcache: ", message);
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// Ends without destructors: gRPC's threads would make a finished call wait for them.
[[noreturn]] void End(int status) {
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(status);
}

// One call of the shim, from its command line to its end.
class Call {
 public:
  Call(char** argv, Settings settings)
      : argv_(argv),
        settings_(std::move(settings)),
        search_(LocalToolchainSearch::FromEnvironment()),
        compiler_(FindLocalCompiler(search_)) {
    ArmLastResort(compiler_.ok() ? *compiler_ : "", argv_);
  }

  [[noreturn]] void Run() {
    if (settings_.depth >= kMaxDepth) {
      Say("the compiler found behind this shim calls the shim again; set NEFFCACHE_REAL_CC to the "
          "real neuronx-cc");
      End(kNoCompilerExit);
    }
    setenv(kDepthVariable, absl::StrCat(settings_.depth + 1).c_str(), /*overwrite=*/1);

    if (settings_.disabled) HandOver({"NEFFCACHE_DISABLE is set", Audience::kVerbose});
    std::vector<std::string> arguments;
    for (char** argument = argv_ + 1; *argument != nullptr; ++argument) {
      arguments.emplace_back(*argument);
    }
    CommandLine command_line = ParseCommandLine(arguments);
    if (!command_line.IsPlainCompile()) HandOver({"not a plain compile", Audience::kVerbose});
    if (!settings_.complaint.empty()) Say(settings_.complaint);
    try {
      Finish(std::move(command_line));
    } catch (const std::exception& error) {
      HandOver({absl::StrCat("the shim failed: ", error.what()), Audience::kUser});
    }
  }

 private:
  [[noreturn]] void Finish(CommandLine command_line) {
    CompilerProgress progress(stdout, absl::Now());
    CachedCompileOptions options;
    options.command_line = std::move(command_line);
    options.toolchain_version = ToolchainVersion();
    options.bundle = settings_.bundle;
    options.daemon = settings_.daemon;
    options.wait = settings_.wait;
    options.reconnect = settings_.reconnect;
    options.have_compiler = compiler_.ok();
    options.on_alive = [&](absl::Duration limit) {
      ExpectSignOfLifeWithin(limit);
      progress.Tick(absl::Now());
    };

    WaitNotice notice(settings_.daemon, absl::Now());
    options.on_progress = [&](const CompileProgress& of_wait) {
      const std::string line = notice.On(of_wait, absl::Now());
      if (!line.empty()) Say(line);
    };

    // gRPC starts its threads here, or waits for ones that it cannot start.
    options.on_alive(std::min(kStartLimit, settings_.wait + kConnectTimeout));
    ClientOptions client_options;
    client_options.daemon = settings_.daemon;
    client_options.connect_timeout = kConnectTimeout;
    client_options.stall_timeout = kSilenceTimeout;
    client_options.reconnect_timeout = settings_.reconnect;
    absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(std::move(client_options));
    if (!client.ok()) HandOver({std::string(client.status().message()), Audience::kUser});

    const std::string& logfile = options.command_line.logfile;
    const Ending ending = CompileThroughCache(**client, options);
    if (const auto* served = std::get_if<Served>(&ending)) {
      AppendCompilerLog(logfile, LogLine(absl::Now(), getpid(), served->log_text));
      progress.Pass();
      End(EXIT_SUCCESS);
    }
    if (const auto* failure = std::get_if<RepeatedFailure>(&ending)) {
      const CompilerStreams streams = SplitStreams(failure->output);
      AppendCompilerLog(logfile, streams.err);
      progress.Fail(streams.out);
      std::fwrite(streams.err.data(), 1, streams.err.size(), stderr);
      std::fflush(stderr);
      if (failure->signal != 0) EndBySignal(failure->signal);
      End(failure->exit_code);
    }
    if (const auto* hopeless = std::get_if<Hopeless>(&ending)) {
      Say(hopeless->reason);
      End(kCompilerErrorExit);
    }
    HandOver(std::get<CompileHere>(ending));
  }

  // The version that the key names: the local compiler's, so that a hit is what it would have made.
  std::string ToolchainVersion() {
    if (!compiler_.ok()) {
      if (!settings_.toolchain_version.empty()) return settings_.toolchain_version;
      HandOver({"without a compiler NEFFCACHE_TOOLCHAIN_VERSION must name the version to ask for",
                Audience::kUser});
    }
    absl::StatusOr<std::string> version = LocalCompilerVersion(*compiler_, search_);
    if (!version.ok()) HandOver({std::string(version.status().message()), Audience::kUser});
    return *std::move(version);
  }

  // Becomes the real compiler.
  [[noreturn]] void HandOver(const CompileHere& why) {
    if (!compiler_.ok()) {
      Say(why.audience == Audience::kUser
              ? absl::StrCat(why.reason,
                             "; and cannot compile here: ", compiler_.status().message())
              : std::string(compiler_.status().message()));
      End(kNoCompilerExit);
    }
    if (why.audience == Audience::kUser) {
      Say(absl::StrCat(why.reason, "; compiling here"));
    } else if (settings_.verbose) {
      Say(absl::StrCat(why.reason, "; handing over to ", *compiler_));
    }
    std::fflush(stdout);
    std::fflush(stderr);
    BecomeProgram(*compiler_, argv_);
    const int error = errno;
    Say(absl::StrCat("cannot run ", *compiler_, ": ", std::strerror(error)));
    End(error == ENOENT ? kNoCompilerExit : kNoCompilerExit - 1);
  }

  char** const argv_;
  const Settings settings_;
  const LocalToolchainSearch search_;
  const absl::StatusOr<std::string> compiler_;
};

}  // namespace
}  // namespace neffcache::shim

int main(int, char** argv) {
  // Debian's Abseil is built with its lock-order checker on; only tests want it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  neffcache::shim::Call(
      argv, neffcache::shim::ReadSettings([](const char* name) { return std::getenv(name); }))
      .Run();
}
