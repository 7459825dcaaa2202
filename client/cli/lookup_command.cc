#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/json.h"
#include "client/cli/target.h"
#include "client/cli/text.h"
#include "client/cli/toolchain_choice.h"
#include "client/lookup_call.h"

namespace neffcache::cli {
namespace {

struct LookupOptions {
  std::vector<std::string> targets;
  std::string toolchain;
  std::string bundle;
};

std::string Remark(const KeyState& state) {
  switch (state.state) {
    case KeyState::State::kReady:
      return BytesText(state.artifact.size);
    case KeyState::State::kFailed:
      return state.failure.failure_class;
    default:
      return "";
  }
}

void Show(const std::vector<Target>& targets, const std::vector<KeyState>& states,
          Console& console) {
  Table table;
  Json results = Json::array();
  for (size_t i = 0; i < targets.size(); ++i) {
    const KeyState& state = states[i];
    const std::string name(StateName(state.state));
    table.Add({name, targets[i].key.Hex(), Remark(state),
               targets[i].is_graph ? targets[i].argument : ""});
    Json json;
    if (targets[i].is_graph) json["graph"] = targets[i].argument;
    json["key"] = targets[i].key.Hex();
    json["state"] = name;
    if (state.state == KeyState::State::kReady) json["artifact"] = ToJson(state.artifact);
    if (state.state == KeyState::State::kFailed) json["failure"] = ToJson(state.failure);
    if (state.compile_time != absl::ZeroDuration()) {
      json["compile_time"] = Seconds(state.compile_time);
    }
    results.push_back(std::move(json));
    if (state.state != KeyState::State::kReady) console.Fail();
  }
  console.document()["results"] = std::move(results);
  for (const std::string& line : table.Lines()) console.Print(line);
}

void RunLookup(const LookupOptions& options, Session& session) {
  Console& console = session.console();
  ToolchainChoice choice(session, options.toolchain, AskDaemon::kYes);
  TargetResolver resolver(session, choice);
  std::vector<Target> targets;
  std::vector<Key> keys;
  for (const std::string& argument : options.targets) {
    absl::StatusOr<Target> target = resolver.Resolve(argument);
    if (!target.ok()) {
      console.Report(target.status());
      // Every other target would have the same trouble, and the same seconds of waiting for it.
      if (ExitStatusOf(target.status()) == ExitStatus::kUnreachable) return;
      continue;
    }
    keys.push_back(target->key);
    targets.push_back(*std::move(target));
  }
  absl::StatusOr<Daemon*> daemon = session.daemon();
  if (!daemon.ok()) return console.Report(daemon.status());
  const absl::StatusOr<std::vector<KeyState>> states =
      LookupThrough(**daemon, keys, options.bundle, LookupFor::kState);
  if (!states.ok()) return console.Report(states.status());
  Show(targets, *states, console);
}

}  // namespace

Command AddLookup(CLI::App& app, Session& session) {
  auto options = std::make_shared<LookupOptions>();
  CLI::App* parsed =
      app.add_subcommand("lookup", "Print the state of each graph or key [-- FLAGS]");
  parsed->add_option("GRAPH|KEY", options->targets, "Graph files, keys or prefixes of keys")
      ->required();
  parsed->add_option("--toolchain", options->toolchain, "NAME or NAME=VERSION, for graphs");
  AddBundleOption(*parsed, options->bundle);
  return {parsed, true, [options, &session] { RunLookup(*options, session); }};
}

}  // namespace neffcache::cli
