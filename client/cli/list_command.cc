// ls entries|bundles|compiles|workers

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/command.h"
#include "client/cli/json.h"
#include "client/cli/text.h"

namespace neffcache::cli {
namespace {

constexpr size_t kShownDigits = 16;

std::string ShortKey(const std::string& bytes) {
  return Hex(bytes).substr(0, kShownDigits);
}

std::string ToolchainText(const v1::Toolchain& toolchain) {
  return absl::StrCat(toolchain.name(), " ", toolchain.version());
}

std::string MillisText(int64_t ms) {
  return ms == 0 ? "-" : DurationText(absl::Milliseconds(ms));
}

void PrintTable(const Table& table, Console& console) {
  for (const std::string& line : table.Lines()) console.Print(line);
}

void ListEntries(bool failed_only, AdminClient& admin, Console& console) {
  Table table;
  table.Add({"KEY", "STATE", "SIZE", "COMPILED IN", "CREATED", "TOOLCHAIN", "GRAPH"});
  Json entries = Json::array();
  console.Report(admin.VisitEntries(failed_only, [&](const v1::Entry& entry) {
    if (console.json()) {
      entries.push_back(ToJson(entry));
      return;
    }
    table.Add({ShortKey(entry.key()), entry.has_ready() ? "ready" : "failed",
               entry.has_ready() ? BytesText(entry.ready().size()) : "-",
               MillisText(entry.compile_time_ms()), TimeText(entry.created_at_ms()),
               ToolchainText(entry.material().toolchain()), entry.graph_name()});
  }));
  console.document()["entries"] = std::move(entries);
  PrintTable(table, console);
}

void ListBundles(AdminClient& admin, Console& console) {
  Table table;
  table.Add({"BUNDLE", "KEYS", "READY", "SIZE", "LAST SEEN"});
  Json bundles = Json::array();
  console.Report(admin.VisitBundles([&](const v1::BundleSummary& bundle) {
    bundles.push_back(ToJson(bundle));
    table.Add({bundle.name(), absl::StrCat(bundle.keys()), absl::StrCat(bundle.ready()),
               BytesText(bundle.bytes()), TimeText(bundle.last_seen_ms())});
  }));
  console.document()["bundles"] = std::move(bundles);
  PrintTable(table, console);
}

std::string CompileRemark(const v1::Compile& compile) {
  if (compile.state() == v1::Compile::STATE_RUNNING) return compile.last_log_line();
  if (!compile.reason().empty()) return compile.reason();
  return absl::StrCat("position ", compile.position());
}

void ListCompiles(AdminClient& admin, Console& console) {
  const absl::StatusOr<v1::ListCompilesResponse> response = admin.ListCompiles();
  if (!response.ok()) return console.Report(response.status());
  Table table;
  table.Add({"KEY", "STATE", "FOR", "EXPECTED", "WAITERS", "WORKER", "GRAPH", ""});
  Json compiles = Json::array();
  for (const v1::Compile& compile : response->compiles()) {
    compiles.push_back(ToJson(compile));
    table.Add({ShortKey(compile.key()), std::string(StateName(compile.state())),
               MillisText(compile.elapsed_ms()), MillisText(compile.expected_ms()),
               absl::StrCat(compile.waiters()), compile.worker().empty() ? "-" : compile.worker(),
               compile.graph_name(), CompileRemark(compile)});
  }
  console.document()["compiles"] = std::move(compiles);
  PrintTable(table, console);
}

void ListWorkers(AdminClient& admin, Console& console) {
  const absl::StatusOr<v1::ListWorkersResponse> response = admin.ListWorkers();
  if (!response.ok()) return console.Report(response.status());
  Table table;
  table.Add({"WORKER", "BUSY", "MEMORY", "DONE", "FAILED", "TOOLCHAINS"});
  Json workers = Json::array();
  for (const v1::Worker& worker : response->workers()) {
    workers.push_back(ToJson(worker));
    table.Add(
        {worker.name(), absl::StrCat(worker.busy(), "/", worker.slots()),
         absl::StrCat(BytesText(worker.reserved_bytes()), " of ", BytesText(worker.memory_bytes())),
         absl::StrCat(worker.compiles_done()), absl::StrCat(worker.compiles_failed()),
         absl::StrJoin(worker.toolchains(), ", ",
                       [](std::string* out, const v1::Toolchain& toolchain) {
                         absl::StrAppend(out, ToolchainText(toolchain));
                       })});
  }
  console.document()["workers"] = std::move(workers);
  PrintTable(table, console);
}

}  // namespace

std::vector<Command> AddList(CLI::App& app, Session& session) {
  CLI::App* list = app.add_subcommand("ls", "List what the daemon has");
  list->require_subcommand(1);
  std::vector<Command> commands;
  const auto add = [&](const char* name, const char* help,
                       std::function<void(AdminClient&, Console&)> run) {
    CLI::App* parsed = list->add_subcommand(name, help);
    commands.push_back({parsed, false, [run = std::move(run), &session] {
                          absl::StatusOr<Daemon*> daemon = session.daemon();
                          if (!daemon.ok()) return session.console().Report(daemon.status());
                          AdminClient admin(**daemon);
                          run(admin, session.console());
                        }});
    return parsed;
  };
  auto failed_only = std::make_shared<bool>(false);
  add("entries", "Entries, ready and failed", [failed_only](AdminClient& admin, Console& console) {
    ListEntries(*failed_only, admin, console);
  })->add_flag("--failed", *failed_only, "Failed ones only");
  add("bundles", "Bundles and how much of each is ready", ListBundles);
  add("compiles", "Compiles that are not finished", ListCompiles);
  add("workers", "Connected workers", ListWorkers);
  return commands;
}

}  // namespace neffcache::cli
