// fingerprint and key: what a graph's identity is, without a daemon.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/json.h"
#include "client/cli/target.h"
#include "client/cli/toolchain_choice.h"
#include "client/identified_spec.h"
#include "graph/parts.h"
#include "io/file.h"

namespace neffcache::cli {
namespace {

constexpr char kExactHelp[] = "Tell graphs apart by the order in which instructions are written";

struct FingerprintOptions {
  std::vector<std::string> graphs;
  bool exact = false;
};

void RunFingerprint(const FingerprintOptions& options, Session& session) {
  Console& console = session.console();
  const GraphOrder order = options.exact ? GraphOrder::kExact : GraphOrder::kCanonical;
  Json graphs = Json::array();
  for (const std::string& path : options.graphs) {
    const absl::StatusOr<GraphIdentity> graph = IdentifyGraphFile(path, order);
    if (!graph.ok()) {
      console.Report(graph.status());
      continue;
    }
    console.Print(absl::StrCat(ToString(graph->fingerprint), "  ", path));
    Json json = {{"graph", path}};
    json.update(ToJson(*graph));
    graphs.push_back(std::move(json));
  }
  console.document()["graphs"] = std::move(graphs);
}

struct KeyOptions {
  std::string graph;
  std::string toolchain;
  bool exact = false;
};

// By which near misses are found; graphs that are hashed as raw bytes have none, and raw_reason or
// the form says why.
void AddParts(const std::string& path, Json& document) {
  const absl::StatusOr<FileContents> contents = FileContents::Load(path);
  if (!contents.ok()) return;
  const absl::StatusOr<GraphParts> parts =
      PartsOfGraph(contents->bytes(), OptionsOfHost(GraphOrder::kCanonical));
  if (parts.ok()) document["parts"] = ToJson(*parts);
}

void RunKey(const KeyOptions& options, Session& session) {
  Console& console = session.console();
  ToolchainChoice choice(session, options.toolchain, AskDaemon::kNo);
  const absl::StatusOr<IdentifiedSpec> identified =
      IdentifyGraphArgument(session, choice, options.graph, options.exact);
  if (!identified.ok()) return console.Report(identified.status());

  console.Print(identified->key.Hex());
  Json& document = console.document();
  document["key"] = identified->key.Hex();
  document["graph"] = options.graph;
  document["toolchain"] = ToJson(identified->material.toolchain);
  document["options"] = identified->material.options;
  document.update(ToJson(identified->graph));
  document["tag"] = identified->graph.fingerprint.tag;
  document["cacheable"] = identified->uncacheable_reason.empty();
  if (console.json()) AddParts(options.graph, document);
  if (!identified->uncacheable_reason.empty()) {
    document["uncacheable_reason"] = identified->uncacheable_reason;
    console.Note(absl::StrCat(options.graph,
                              " is never cached under this key: ", identified->uncacheable_reason));
  }
}

}  // namespace

Command AddFingerprint(CLI::App& app, Session& session) {
  auto options = std::make_shared<FingerprintOptions>();
  CLI::App* parsed = app.add_subcommand(
      "fingerprint", "Print the fingerprint and path of each graph, like sha256sum (offline)");
  parsed->add_option("GRAPH", options->graphs, "Graph files")->required();
  parsed->add_flag("--exact", options->exact, kExactHelp);
  return {parsed, false, [options, &session] { RunFingerprint(*options, session); }};
}

Command AddKey(CLI::App& app, Session& session) {
  auto options = std::make_shared<KeyOptions>();
  CLI::App* parsed =
      app.add_subcommand("key", "Print the key of a graph with flags [-- FLAGS] (offline)");
  parsed->add_option("GRAPH", options->graph, "Graph file")->required();
  parsed->add_option("--toolchain", options->toolchain,
                     "NAME=VERSION; without VERSION, that of this machine's compiler");
  parsed->add_flag("--exact", options->exact, kExactHelp);
  return {parsed, true, [options, &session] { RunKey(*options, session); }};
}

}  // namespace neffcache::cli
