#include "graph/opened_graph.h"

#include <memory>
#include <utility>
#include <vector>

#include "graph/graph_pack.h"
#include "graph/unwrap.h"
#include "io/status_macros.h"

namespace neffcache {

absl::Status OpenGraph(absl::string_view bytes, const IdentifyOptions& options,
                       OpenedGraph* opened) {
  opened->options = options;
  if (IsGraphPack(bytes)) {
    ASSIGN_OR_RETURN(GraphPack pack, ReadGraphPack(bytes));
    opened->packed_files = pack.files.size();
    bytes = pack.graph;
    opened->options.file_digest =
        [files = std::make_shared<const std::vector<PackedFile>>(std::move(pack.files))](
            absl::string_view path) -> absl::StatusOr<Digest> {
      for (const PackedFile& file : *files) {
        if (file.path == path) return Sha256Of(file.bytes);
      }
      return absl::NotFoundError("it did not come with the graph");
    };
  }
  ASSIGN_OR_RETURN(opened->bytes, Unwrap(bytes, options.unwrap_limit, &opened->storage));
  if (opened->bytes.empty()) return absl::InvalidArgumentError("the graph is empty");
  return absl::OkStatus();
}

}  // namespace neffcache
