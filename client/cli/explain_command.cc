// explain: how one graph differs from another, without a daemon.

#include <cstddef>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/json.h"
#include "graph/explain.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache::cli {
namespace {

struct Options {
  std::string graph;
  std::string other;
  size_t limit = ExplainOptions().max_differences;
  bool exact = false;
};

Json ToJson(const Difference& difference) {
  Json json = {{"kind", std::string(ToString(difference.kind))}, {"text", difference.text}};
  if (!difference.source.empty()) json["source"] = difference.source;
  return json;
}

void Print(const Explanation& explanation, Console& console) {
  Json& document = console.document();
  document["same"] = explanation.same;
  document["only_scalar_constants"] = explanation.only_scalar_constants;
  document["only_debug_data"] = explanation.only_debug_data;
  document["summary"] = explanation.Summary();
  Json differences = Json::array();
  for (const Difference& difference : explanation.differences) {
    console.Print(difference.text);
    differences.push_back(ToJson(difference));
  }
  document["differences"] = std::move(differences);
  document["omitted"] = explanation.omitted;
  if (explanation.same) console.Print(explanation.Summary());
  if (explanation.omitted > 0) {
    console.Print(absl::StrCat("and ", explanation.omitted, " more (--limit)"));
  }
  if (explanation.only_scalar_constants) {
    console.Print("only scalar constants differ: is a rank baked in?");
  }
}

absl::Status Explain(const Options& options, Session& session) {
  if (options.other.empty()) {
    return UsageError("explain takes two graphs: the one before and the one after");
  }
  ASSIGN_OR_RETURN(const FileContents before, FileContents::Load(options.graph));
  ASSIGN_OR_RETURN(const FileContents after, FileContents::Load(options.other));
  ExplainOptions explain;
  explain.max_differences = options.limit;
  if (options.exact) explain.identify.order = GraphOrder::kExact;
  const absl::StatusOr<Explanation> explanation =
      ExplainGraphs(before.bytes(), after.bytes(), explain);
  if (!explanation.ok()) {
    return absl::Status(explanation.status().code(),
                        absl::StrCat("comparing ", options.graph, " and ", options.other, ": ",
                                     explanation.status().message()));
  }
  Console& console = session.console();
  console.document()["graph"] = options.graph;
  console.document()["other"] = options.other;
  Print(*explanation, console);
  if (!explanation->same) console.Fail();
  return absl::OkStatus();
}

}  // namespace

Command AddExplain(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* parsed =
      app.add_subcommand("explain", "Say in words how one graph differs from another (offline)");
  parsed->add_option("GRAPH", options->graph, "The graph before")->required();
  parsed->add_option("OTHER", options->other, "The graph after");
  parsed->add_option("--limit", options->limit, "Differences to name at most")
      ->check(CLI::Range(size_t{1}, size_t{100000}))
      ->capture_default_str();
  parsed->add_flag("--exact", options->exact,
                   "Tell graphs apart by the order in which instructions are written");
  parsed->footer("Exit status: 0 the graphs are the same; 1 they differ, or one cannot be read.");
  return {parsed, false,
          [options, &session] { session.console().Report(Explain(*options, session)); }};
}

}  // namespace neffcache::cli
