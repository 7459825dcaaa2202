#include <string>
#include <vector>

#include "io/status_macros.h"
#include "server/rpc/admin_queries.h"
#include "server/rpc/from_wire.h"
#include "server/rpc/to_wire.h"
#include "server/store/entry_messages.h"
#include "server/store/near_codec.h"

namespace neffcache {

absl::Status Explain(ServiceContext& context, const v1::ExplainRequest& request,
                     v1::ExplainResponse& response) {
  NearQuery query;
  ASSIGN_OR_RETURN(query.material, MaterialFromWire(request.material(), "material"));
  RETURN_IF_ERROR(CheckName(request.graph_name(), "graph_name", Empty::kAllowed));
  query.key = ComputeKey(query.material);
  query.graph_name = request.graph_name();
  query.instructions = request.instructions();
  if (request.has_parts()) {
    ASSIGN_OR_RETURN(query.parts, PartsFromWire(request.parts(), "parts"));
  }

  response.set_key(std::string(query.key.bytes()));
  const absl::StatusOr<Entry> entry = context.store.Find(query.key);
  if (entry.ok()) {
    *response.mutable_entry() = ToMessage(*entry);
  } else if (!absl::IsNotFound(entry.status())) {
    return entry.status();
  }
  const absl::optional<CompileView> compile = context.dispatcher.FindCompile(query.key);
  if (compile.has_value()) *response.mutable_compile() = ToWire(*compile);
  const absl::StatusOr<Miss> miss = context.store.FindMiss(query.key);
  if (miss.ok()) *response.mutable_miss() = ToMessage(*miss);
  if (entry.ok() && entry->ready() != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<NearEntry> nearest, context.store.Nearest(query));
  for (const NearEntry& near : nearest) {
    v1::NearEntry& wire = *response.add_near();
    *wire.mutable_entry() = ToMessage(near.entry);
    // Nobody asked for their output.
    if (wire.entry().has_failed()) wire.mutable_entry()->mutable_failed()->clear_log_tail();
    if (near.parts.has_value()) *wire.mutable_parts() = ToMessage(*near.parts);
  }
  return absl::OkStatus();
}

}  // namespace neffcache
