#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/interrupt.h"
#include "client/cli/json.h"
#include "client/cli/target.h"
#include "client/cli/text.h"
#include "client/cli/toolchain_choice.h"
#include "client/fetch_call.h"
#include "client/lookup_call.h"
#include "client/verified_file.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache::cli {
namespace {

constexpr uint64_t kGraphLimit = uint64_t{64} << 30;

struct FetchOptions {
  std::string target;
  std::string toolchain;
  std::string output;
  bool graph = false;
};

// Why there is nothing to fetch.
absl::Status NotReady(const Target& target, const KeyState& state) {
  const std::string fetching = absl::StrCat("fetching ", target.argument, ": ");
  switch (state.state) {
    case KeyState::State::kCompiling:
      return absl::FailedPreconditionError(absl::StrCat(fetching, "its compile is not finished"));
    case KeyState::State::kFailed:
      return absl::FailedPreconditionError(
          absl::StrCat(fetching, "its compile failed: ", state.failure.message,
                       " (see neffcache log ", target.key.Hex().substr(0, 16), ")"));
    default:
      return absl::NotFoundError(
          absl::StrCat(fetching, "nothing is cached under key ", target.key.Hex()));
  }
}

absl::Status FetchArtifact(Daemon& daemon, const Target& target, const std::string& output,
                           Console& console) {
  ASSIGN_OR_RETURN(const std::vector<KeyState> states,
                   LookupThrough(daemon, {target.key}, "", LookupFor::kUse));
  const KeyState& state = states.front();
  if (state.state != KeyState::State::kReady) return NotReady(target, state);
  const ArtifactName& artifact = state.artifact;
  if (state.inline_artifact.has_value()) {
    ASSIGN_OR_RETURN(const Digest digest, Digest::FromHex(artifact.digest));
    RETURN_IF_ERROR(WriteVerified(output, *state.inline_artifact, digest));
  } else {
    const InterruptGuard guard;  // Or half an artifact stays beside the output.
    const absl::Status fetched =
        FetchVerified(daemon, artifact, output, NamedBy::kCaller, InterruptGuard::requested,
                      Acquaintance::kDaemonWasThere);
    if (absl::IsDataLoss(fetched)) {
      return absl::Status(
          fetched.code(),
          absl::StrCat(fetched.message(), "; neffcache precompile of its graph makes a new one"));
    }
    RETURN_IF_ERROR(fetched);
  }
  console.document()["artifact"] = ToJson(artifact);
  console.Print(
      absl::StrCat("wrote ", output, ": ", BytesText(artifact.size), ", sha256 ", artifact.digest));
  return absl::OkStatus();
}

absl::Status FetchGraph(Daemon& daemon, const Target& target, const std::string& output,
                        Console& console) {
  ASSIGN_OR_RETURN(const v1::ShowKeyResponse shown, AdminClient(daemon).ShowKey(target.key));
  if (shown.entry().graph_digest().empty()) {
    return absl::NotFoundError(
        absl::StrCat("fetching the graph of ", target.argument, ": the daemon keeps none"));
  }
  ASSIGN_OR_RETURN(const Digest digest, Digest::FromBytes(shown.entry().graph_digest()));
  const InterruptGuard guard;  // Or half a graph stays beside the output.
  ASSIGN_OR_RETURN(AtomicFile file, CreateOutput(output));
  const auto write = [&](absl::string_view bytes) { return file.Write(bytes); };
  RETURN_IF_ERROR(FetchDecompressed(daemon, v1::FetchRequest::KIND_GRAPH, digest, kGraphLimit,
                                    write, InterruptGuard::requested));
  RETURN_IF_ERROR(file.Commit(Durability::kBuffered));
  console.document()["graph_digest"] = digest.Hex();
  console.Print(absl::StrCat("wrote ", output, ": ", BytesText(shown.entry().graph_size()),
                             ", sha256 ", digest.Hex()));
  return absl::OkStatus();
}

absl::Status Fetch(const FetchOptions& options, Session& session) {
  // Cheap to know, and worth knowing before anything is asked of a daemon.
  RETURN_IF_ERROR(CheckOutput(options.output));
  ToolchainChoice choice(session, options.toolchain, AskDaemon::kYes);
  ASSIGN_OR_RETURN(const Target target, TargetResolver(session, choice).Resolve(options.target));
  ASSIGN_OR_RETURN(Daemon * daemon, session.daemon());
  Console& console = session.console();
  console.document()["key"] = target.key.Hex();
  console.document()["output"] = options.output;
  return options.graph ? FetchGraph(*daemon, target, options.output, console)
                       : FetchArtifact(*daemon, target, options.output, console);
}

}  // namespace

Command AddFetch(CLI::App& app, Session& session) {
  auto options = std::make_shared<FetchOptions>();
  CLI::App* parsed =
      app.add_subcommand("fetch", "Write the artifact of a graph or key to a file [-- FLAGS]");
  parsed->add_option("GRAPH|KEY", options->target, "Graph file, key or prefix of a key")
      ->required();
  parsed->add_option("-o,--output", options->output, "The file to write")->required();
  parsed->add_option("--toolchain", options->toolchain, "NAME or NAME=VERSION, for a graph");
  parsed->add_flag("--graph", options->graph, "Write the kept graph instead of the artifact");
  return {parsed, true,
          [options, &session] { session.console().Report(Fetch(*options, session)); }};
}

}  // namespace neffcache::cli
