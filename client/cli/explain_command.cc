// explain: how one graph differs from another, without a daemon, or from what the daemon has.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/difference_output.h"
#include "client/cli/explain_store.h"
#include "client/cli/target.h"
#include "client/identified_spec.h"
#include "graph/explain.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache::cli {
namespace {

struct Options {
  std::string graph;
  std::string other;
  std::string bundle;
  ExplainStoreOptions store;
};

void Print(const Explanation& explanation, Console& console) {
  Json& document = console.document();
  document["same"] = explanation.same;
  document["only_scalar_constants"] = explanation.only_scalar_constants;
  document["only_debug_data"] = explanation.only_debug_data;
  document["summary"] = explanation.Summary();
  PrintDifferences(explanation.differences, explanation.omitted, console);
  if (explanation.same) console.Print(explanation.Summary());
  if (explanation.only_scalar_constants) {
    console.Print("only scalar constants differ: is a rank baked in?");
  }
}

absl::Status ExplainTwo(const Options& options, Session& session) {
  if (!session.flags.empty()) {
    return UsageError("explain of two graphs takes no compiler flags behind \"--\"");
  }
  ASSIGN_OR_RETURN(const FileContents before, FileContents::Load(options.graph));
  ASSIGN_OR_RETURN(const FileContents after, FileContents::Load(options.other));
  ExplainOptions explain;
  explain.max_differences = options.store.limit;
  explain.identify =
      OptionsOfHost(options.store.exact ? GraphOrder::kExact : GraphOrder::kCanonical);
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

absl::Status Explain(const Options& options, Session& session) {
  if (!options.bundle.empty()) {
    if (options.graph.empty() && session.flags.empty()) {
      return ExplainBundle(options.bundle, session);
    }
    return UsageError("explain --bundle takes neither a graph nor compiler flags");
  }
  if (options.graph.empty()) {
    return UsageError("explain takes two graphs, one graph or key, or --bundle");
  }
  if (!options.other.empty()) return ExplainTwo(options, session);
  if (IsKeyArgument(options.graph)) return ExplainKey(options.graph, session);
  return ExplainGraph(options.graph, options.store, session);
}

}  // namespace

Command AddExplain(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* parsed =
      app.add_subcommand("explain",
                         "Say in words how one graph differs from another (offline), or from the "
                         "nearest that is cached [-- FLAGS]");
  parsed->add_option("GRAPH", options->graph, "The graph before; alone, a graph or a key");
  parsed->add_option("OTHER", options->other, "The graph after");
  parsed->add_option("--limit", options->store.limit, "Differences to name at most")
      ->check(CLI::Range(size_t{1}, size_t{100000}))
      ->capture_default_str();
  parsed->add_flag("--exact", options->store.exact,
                   "Tell graphs apart by the order in which instructions are written");
  parsed->add_option("--toolchain", options->store.toolchain,
                     "NAME or NAME=VERSION, for a graph alone");
  parsed->add_option("--bundle", options->bundle,
                     "Tell which graphs of this bundle differ in scalar constants alone");
  parsed->footer(
      "Exit status: 0 the graphs are the same, or it is cached; 1 they differ, it is not, or one\n"
      "cannot be read; 3 daemon unreachable.");
  return {parsed, true,
          [options, &session] { session.console().Report(Explain(*options, session)); }};
}

}  // namespace neffcache::cli
