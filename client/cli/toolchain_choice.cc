#include "client/cli/toolchain_choice.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/local_xla_cpu.h"
#include "client/toolchains_call.h"
#include "io/status_macros.h"

namespace neffcache::cli {
namespace {

constexpr char kHowToSay[] = "pass --toolchain NAME=VERSION";

// A daemon's own workers connect a moment after it answers.
constexpr absl::Duration kWorkersAreThereAfter = absl::Seconds(5);
constexpr absl::Duration kAskAgainAfter = absl::Milliseconds(200);

// Whether the daemon has started so recently that its workers may be on their way.
bool HasJustStarted(Daemon& daemon) {
  const absl::StatusOr<v1::Stats> stats = AdminClient(daemon).GetStats();
  return stats.ok() && absl::Milliseconds(stats->uptime_ms()) < kWorkersAreThereAfter;
}

// What the workers offer.
absl::StatusOr<std::vector<Toolchain>> Offered(Daemon& daemon) {
  for (;;) {
    absl::StatusOr<std::vector<Toolchain>> offered = ListToolchainsThrough(daemon);
    if (!offered.ok() || !offered->empty() || !HasJustStarted(daemon)) return offered;
    daemon.watchdog().WaitForBreakOff(kAskAgainAfter);
  }
}

std::string List(const std::vector<Toolchain>& toolchains) {
  return absl::StrJoin(toolchains, ", ", [](std::string* out, const Toolchain& toolchain) {
    absl::StrAppend(out, toolchain.name, "=", toolchain.version);
  });
}

}  // namespace

absl::StatusOr<Toolchain> ToolchainChoice::Get() {
  if (!decided_.has_value()) decided_ = Decide();
  return *decided_;
}

absl::StatusOr<Toolchain> ToolchainChoice::Decide() {
  const size_t equals = wanted_.find('=');
  const std::string name = wanted_.substr(0, equals);
  if (equals != std::string::npos) {
    Toolchain toolchain{name, wanted_.substr(equals + 1)};
    if (toolchain.name.empty() || toolchain.version.empty()) {
      return UsageError(absl::StrCat("--toolchain \"", wanted_, "\" is not NAME or NAME=VERSION"));
    }
    return toolchain;
  }
  absl::Status no_local = absl::OkStatus();
  if (name.empty() || name == kLocalToolchainName) {
    absl::StatusOr<LocalToolchain> local = FindLocalToolchain(session_.local_search);
    if (local.ok()) return local->toolchain;
    no_local = local.status();
  }
  if (name == kXlaCpuToolchainName) {
    absl::StatusOr<LocalToolchain> local = FindLocalXlaCpu(session_.local_search);
    if (local.ok()) return local->toolchain;
    no_local = local.status();
  }
  return FromDaemon(name, no_local);
}

absl::StatusOr<Toolchain> ToolchainChoice::FromDaemon(const std::string& name,
                                                      const absl::Status& no_local) {
  if (ask_ == AskDaemon::kNo) {
    return absl::FailedPreconditionError(
        no_local.ok() ? absl::StrCat("the key depends on the version of ", name,
                                     ", and no compiler here tells it: pass --toolchain ", name,
                                     "=VERSION (neffcache ls workers shows what the workers offer)")
                      : absl::StrCat(no_local.message(), "; ", kHowToSay));
  }
  ASSIGN_OR_RETURN(Daemon * daemon, session_.daemon());
  ASSIGN_OR_RETURN(const std::vector<Toolchain> offered, Offered(*daemon));
  std::vector<Toolchain> fitting;
  for (const Toolchain& toolchain : offered) {
    if (name.empty() || toolchain.name == name) fitting.push_back(toolchain);
  }
  if (fitting.size() == 1) return fitting.front();
  const std::string choosing =
      absl::StrCat("choosing a toolchain", name.empty() ? "" : " named ", name, ": ");
  if (fitting.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(choosing, "the workers offer several (", List(fitting), "); ", kHowToSay));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(choosing, no_local.ok() ? "" : absl::StrCat(no_local.message(), ", and "),
                   offered.empty() ? "no worker is connected to the daemon"
                                   : absl::StrCat("the workers offer only ", List(offered)),
                   "; ", kHowToSay));
}

}  // namespace neffcache::cli
