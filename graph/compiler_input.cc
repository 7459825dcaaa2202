#include "graph/compiler_input.h"

#include "graph/graph_form.h"
#include "graph/graph_pack.h"
#include "graph/unwrap.h"
#include "io/status_macros.h"

namespace neffcache {

absl::StatusOr<absl::string_view> CompilerInput(absl::string_view bytes, uint64_t unwrap_limit,
                                                std::string* storage) {
  if (IsGraphPack(bytes)) {
    ASSIGN_OR_RETURN(const GraphPack pack, ReadGraphPack(bytes));
    bytes = pack.graph;
  }
  ASSIGN_OR_RETURN(const absl::string_view unwrapped, Unwrap(bytes, unwrap_limit, storage));
  if (unwrapped.empty()) return absl::InvalidArgumentError("the graph is empty");
  const RecognizedGraph graph = RecognizeGraph(unwrapped);
  return graph.module.empty() || !graph.opaque_reason.empty() ? unwrapped : graph.module;
}

}  // namespace neffcache
