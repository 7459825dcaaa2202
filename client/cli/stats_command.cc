#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/command.h"
#include "client/cli/json.h"
#include "client/cli/text.h"

namespace neffcache::cli {
namespace {

std::string HitsText(const v1::Stats& stats) {
  if (stats.lookups() == 0) return "0 of 0 artifacts asked for";
  return absl::StrFormat(
      "%d of %d artifacts asked for (%.1f %%)", stats.hits(), stats.lookups(),
      100.0 * static_cast<double>(stats.hits()) / static_cast<double>(stats.lookups()));
}

void RunStats(Session& session) {
  Console& console = session.console();
  absl::StatusOr<Daemon*> daemon = session.daemon();
  if (!daemon.ok()) return console.Report(daemon.status());
  const absl::StatusOr<v1::Stats> stats = AdminClient(**daemon).GetStats();
  if (!stats.ok()) return console.Report(stats.status());
  console.document().update(ToJson(*stats));
  Table table;
  table.Add(
      {"daemon", absl::StrCat("neffcached ", stats->version(), " at ", (*daemon)->options().daemon,
                              ", up ", DurationText(absl::Milliseconds(stats->uptime_ms())))});
  table.Add({"entries",
             absl::StrCat(stats->entries_ready(), " ready, ", stats->entries_failed(), " failed")});
  table.Add(
      {"artifacts", absl::StrCat(stats->artifacts(), ", ", BytesText(stats->artifact_bytes()))});
  table.Add({"hits", HitsText(*stats)});
  table.Add({"compiles",
             absl::StrCat(stats->compiles_running(), " running, ", stats->compiles_queued(),
                          " queued, ", stats->compiles_done(), " done, ", stats->compiles_failed(),
                          " failed, ", stats->compiles_joined(), " joined")});
  table.Add(
      {"compile time saved", DurationText(absl::Milliseconds(stats->compile_time_saved_ms()))});
  table.Add({"served", BytesText(stats->bytes_served())});
  table.Add({"workers", absl::StrCat(stats->workers(), " with ", stats->slots(), " slots")});
  table.Add({"damaged", absl::StrCat(stats->damaged(), " artifacts and queued compiles")});
  for (const std::string& line : table.Lines()) console.Print(line);
}

}  // namespace

Command AddStats(CLI::App& app, Session& session) {
  return {app.add_subcommand("stats", "Print the daemon's figures"), false,
          [&session] { RunStats(session); }};
}

}  // namespace neffcache::cli
