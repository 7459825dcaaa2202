#include "client/cli/explain_store.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/difference_output.h"
#include "client/cli/json.h"
#include "client/cli/rank_baked_in.h"
#include "client/cli/target.h"
#include "client/cli/toolchain_choice.h"
#include "client/fetch_call.h"
#include "client/identified_spec.h"
#include "client/wire.h"
#include "graph/parts.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "transport/limits.h"

namespace neffcache::cli {
namespace {

// A kept graph that is larger is compared by its parts.
constexpr uint64_t kFetchLimit = uint64_t{512} << 20;
constexpr size_t kShownDigits = 12;

std::string Short(absl::string_view key_bytes) {
  return Hex(key_bytes).substr(0, kShownDigits);
}

// What a daemon takes for a name; a name that is only a hint may be cut.
std::string NameForDaemon(std::string name) {
  if (name.size() > kMaxNameBytes) name.resize(kMaxNameBytes);
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = ' ';
  }
  return name;
}

absl::StatusOr<std::string> FetchGraph(Daemon& daemon, const v1::Entry& entry) {
  if (entry.graph_digest().empty()) return absl::NotFoundError("its graph is not kept");
  if (entry.graph_size() > kFetchLimit) return absl::ResourceExhaustedError("it is too large");
  ASSIGN_OR_RETURN(const Digest digest, Digest::FromBytes(entry.graph_digest()));
  std::string bytes;
  RETURN_IF_ERROR(FetchDecompressed(daemon, v1::FetchRequest::KIND_GRAPH, digest, kFetchLimit,
                                    [&bytes](absl::string_view piece) {
                                      bytes.append(piece.data(), piece.size());
                                      return absl::OkStatus();
                                    }));
  return bytes;
}

std::string Describe(const v1::Entry& entry) {
  return absl::StrCat(Short(entry.key()),
                      entry.graph_name().empty() ? "" : absl::StrCat(" (", entry.graph_name(), ")"),
                      entry.has_failed() ? ", which failed" : "");
}

// One run against the daemon.
class Comparison {
 public:
  Comparison(const ExplainStoreOptions& options, Session& session, Daemon& daemon)
      : options_(options), console_(session.console()), daemon_(daemon) {}

  absl::Status Run(const IdentifiedSpec& spec, const FileContents& graph) {
    absl::StatusOr<GraphParts> parts =
        PartsOfGraph(graph.bytes(), OptionsOfHost(GraphOrder::kCanonical));
    v1::ExplainRequest request;
    *request.mutable_material() = ToProto(spec.material);
    request.set_graph_name(NameForDaemon(spec.graph.name));
    request.set_instructions(spec.graph.instructions);
    if (parts.ok()) {
      parts = LargestParts(*std::move(parts), kMaxPartComputations);
      *request.mutable_parts() = ToProto(*parts);
    }
    ASSIGN_OR_RETURN(const v1::ExplainResponse response, AdminClient(daemon_).Explain(request));
    if (SayState(response)) return absl::OkStatus();
    console_.Fail();
    if (response.near().empty()) {
      console_.document()["nearest"] = nullptr;
      console_.Print("no entry is like it");
      return absl::OkStatus();
    }
    return Compare(spec, graph, parts, response);
  }

 private:
  // True when the key is ready, and there is nothing to explain.
  bool SayState(const v1::ExplainResponse& response) {
    Json& document = console_.document();
    const std::string key = Hex(response.key());
    document["key"] = key;
    document["cached"] = response.entry().has_ready();
    document["state"] = response.entry().has_ready()    ? "ready"
                        : response.has_compile()        ? "compiling"
                        : response.entry().has_failed() ? "failed"
                                                        : "absent";
    if (response.has_miss()) document["miss"] = ToJson(response.miss());
    if (response.entry().has_ready()) {
      console_.Print(absl::StrCat("it is cached: key ", key));
      return true;
    }
    if (response.has_compile()) {
      console_.Print(absl::StrCat("it is being compiled: key ", key));
    } else if (response.entry().has_failed()) {
      console_.Print(absl::StrCat("its compile failed: ", response.entry().failed().message(),
                                  " (neffcache log ", Short(response.key()), ")"));
    } else {
      console_.Print(absl::StrCat("it is not cached: key ", key));
    }
    return false;
  }

  absl::Status Compare(const IdentifiedSpec& spec, const FileContents& graph,
                       const absl::StatusOr<GraphParts>& parts,
                       const v1::ExplainResponse& response) {
    const v1::NearEntry& nearest = response.near(0);
    console_.document()["nearest"] = ToJson(nearest.entry());
    Json candidates = Json::array();
    for (const v1::NearEntry& near : response.near()) candidates.push_back(Hex(near.entry().key()));
    console_.document()["candidates"] = std::move(candidates);
    console_.Print(absl::StrCat("nearest ", Describe(nearest.entry()), ":"));

    absl::StatusOr<KeyMaterial> material = MaterialFrom(nearest.entry().material());
    if (!material.ok()) return daemon_.Error(material.status(), "reading the nearest entry");
    std::vector<Difference> differences = ExplainMaterial(*material, spec.material);
    uint64_t omitted = 0;
    bool only_constants = false;
    if (!(material->fingerprint == spec.material.fingerprint)) {
      const absl::StatusOr<std::string> before = FetchGraph(daemon_, nearest.entry());
      if (ExitStatusOf(before.status()) == ExitStatus::kUnreachable) return before.status();
      ExplainOptions explain;
      explain.max_differences = options_.limit;
      explain.identify =
          OptionsOfHost(options_.exact ? GraphOrder::kExact : GraphOrder::kCanonical);
      absl::StatusOr<Explanation> explanation =
          before.ok() ? ExplainGraphs(*before, graph.bytes(), explain) : before.status();
      if (explanation.ok()) {
        omitted = explanation->omitted;
        only_constants = explanation->only_scalar_constants;
        std::move(explanation->differences.begin(), explanation->differences.end(),
                  std::back_inserter(differences));
      } else {
        differences.push_back(OfParts(nearest, parts, explanation.status()));
      }
    }
    if (differences.size() > options_.limit) {
      omitted += differences.size() - options_.limit;
      differences.resize(options_.limit);
    }
    console_.document()["only_scalar_constants"] = only_constants;
    PrintDifferences(differences, omitted, console_);
    if (only_constants) console_.Print("only scalar constants differ: is a rank baked in?");
    return absl::OkStatus();
  }

  // Without the graph itself.
  static Difference OfParts(const v1::NearEntry& nearest, const absl::StatusOr<GraphParts>& parts,
                            const absl::Status& why) {
    Difference difference;
    difference.kind = Difference::Kind::kComputation;
    const absl::StatusOr<GraphParts> before =
        nearest.has_parts() ? PartsFrom(nearest.parts())
                            : absl::StatusOr<GraphParts>(absl::NotFoundError("it has none"));
    difference.text =
        before.ok() && parts.ok()
            ? DescribePartDifference(*before, *parts)
            : absl::StrCat("another graph, which cannot be compared: ", why.message());
    return difference;
  }

  const ExplainStoreOptions& options_;
  Console& console_;
  Daemon& daemon_;
};

}  // namespace

absl::Status ExplainGraph(const std::string& path, const ExplainStoreOptions& options,
                          Session& session) {
  ASSIGN_OR_RETURN(const FileContents graph, FileContents::Load(path));
  ToolchainChoice choice(session, options.toolchain, AskDaemon::kYes);
  ASSIGN_OR_RETURN(const IdentifiedSpec identified,
                   IdentifyGraphArgument(session, choice, path, options.exact));
  session.console().document()["graph"] = path;
  RETURN_IF_ERROR(CheckCacheable(identified));
  ASSIGN_OR_RETURN(Daemon * daemon, session.daemon());
  return Comparison(options, session, *daemon).Run(identified, graph);
}

absl::Status ExplainKey(const std::string& argument, Session& session) {
  ASSIGN_OR_RETURN(const Key key, ResolveKeyArgument(session, argument));
  ASSIGN_OR_RETURN(Daemon * daemon, session.daemon());
  ASSIGN_OR_RETURN(const v1::ShowKeyResponse shown, AdminClient(*daemon).ShowKey(key));
  Console& console = session.console();
  console.document()["key"] = key.Hex();
  console.document()["cached"] = shown.entry().has_ready();
  if (shown.has_miss()) {
    console.document()["miss"] = ToJson(shown.miss());
    console.Print(absl::StrCat("why it was compiled: ", shown.miss().explanation()));
  } else {
    console.Print("why it was compiled is not recorded");
  }
  if (!shown.entry().has_ready()) console.Fail();
  return absl::OkStatus();
}

absl::Status ExplainBundle(const std::string& bundle, Session& session) {
  ASSIGN_OR_RETURN(Daemon * daemon, session.daemon());
  std::vector<RankCandidate> candidates;
  uint64_t keys = 0;
  RETURN_IF_ERROR(AdminClient(*daemon).VisitBundle(bundle, [&](const v1::BundleKey& member) {
    ++keys;
    const v1::Entry& entry = member.entry();
    const absl::StatusOr<KeyMaterial> material = MaterialFrom(entry.material());
    if (!material.ok() || entry.graph_digest().empty()) return;
    candidates.push_back({Short(member.key()), material->fingerprint, entry.instructions(),
                          [daemon, entry] { return FetchGraph(*daemon, entry); }});
  }));
  const RankSearch search = FindRanksBakedIn(candidates);
  Console& console = session.console();
  console.document()["bundle"] = bundle;
  console.document()["keys"] = keys;
  Json groups = Json::array();
  for (const RankGroup& group : search.groups) {
    PrintRank(group.baked_in, console);
    std::string names;
    for (const std::string& name : group.names) absl::StrAppend(&names, " ", name);
    console.Print(absl::StrCat("  keys:", names));
    Json json = ToJson(group.baked_in);
    json["keys"] = group.names;
    groups.push_back(std::move(json));
  }
  console.document()["rank_baked_in"] = std::move(groups);
  console.document()["skipped"] = search.skipped;
  if (search.skipped > 0) {
    console.Note(absl::StrCat(search.skipped, " graphs of bundle ", bundle,
                              " were not looked into: too many, too large or gone"));
  }
  if (search.groups.empty()) {
    console.Print(absl::StrCat("no rank is baked in: none of the ", keys, " keys of bundle ",
                               bundle, " differs from another in scalar constants alone"));
  } else {
    console.Fail();
  }
  return absl::OkStatus();
}

}  // namespace neffcache::cli
