#include "client/identified_spec.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/graph_pack.h"
#include "graph/options.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

bool Exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

}  // namespace

IdentifyOptions OptionsOfHost(GraphOrder order) {
  IdentifyOptions options;
  options.order = order;
  options.file_digest = [](absl::string_view file) -> absl::StatusOr<Digest> {
    ASSIGN_OR_RETURN(const std::string content,
                     ReadRegularFile(std::string(file), kMaxKernelFileBytes));
    return Sha256Of(content);
  };
  return options;
}

absl::StatusOr<GraphIdentity> IdentifyGraphFile(const std::string& path, GraphOrder order) {
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Load(path));
  absl::StatusOr<GraphIdentity> identity = IdentifyGraph(contents.bytes(), OptionsOfHost(order));
  if (!identity.ok()) {
    return absl::Status(identity.status().code(),
                        absl::StrCat("reading graph ", path, ": ", identity.status().message()));
  }
  return identity;
}

absl::StatusOr<IdentifiedSpec> IdentifySpec(const CompileSpec& spec) {
  if (spec.toolchain_name.empty() || spec.toolchain_version.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("identifying ", spec.graph_path, ": no toolchain is given"));
  }
  IdentifiedSpec identified;
  identified.spec = spec;
  ASSIGN_OR_RETURN(identified.graph,
                   IdentifyGraphFile(spec.graph_path, spec.exact_order ? GraphOrder::kExact
                                                                       : GraphOrder::kCanonical));
  absl::StatusOr<NormalizedOptions> options =
      NormalizeOptions(spec.toolchain_name, spec.flags, Exists);
  if (!options.ok()) {
    return absl::Status(options.status().code(), absl::StrCat("identifying ", spec.graph_path, ": ",
                                                              options.status().message()));
  }
  identified.uncacheable_reason = !identified.graph.cacheable()
                                      ? identified.graph.uncacheable_reason
                                      : options->uncacheable_reason;
  identified.material = {identified.graph.fingerprint,
                         std::move(options->arguments),
                         {spec.toolchain_name, spec.toolchain_version}};
  identified.key = ComputeKey(identified.material);
  return identified;
}

absl::StatusOr<CompileIdentity> Identify(const CompileSpec& spec) {
  ASSIGN_OR_RETURN(IdentifiedSpec identified, IdentifySpec(spec));
  const GraphIdentity& graph = identified.graph;
  CompileIdentity identity;
  identity.key = identified.key.Hex();
  identity.fingerprint_tag = graph.fingerprint.tag;
  identity.fingerprint = graph.fingerprint.digest.Hex();
  identity.options = std::move(identified.material.options);
  identity.form = std::string(ToString(graph.form));
  identity.raw_reason = graph.raw_reason;
  identity.uncacheable_reason = std::move(identified.uncacheable_reason);
  identity.dropped = graph.dropped.empty() ? "" : graph.dropped.Hex();
  identity.graph_name = graph.name;
  identity.instructions = graph.instructions;
  return identity;
}

}  // namespace neffcache
