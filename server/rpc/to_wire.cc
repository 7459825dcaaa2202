#include "server/rpc/to_wire.h"

#include <string>

#include "io/utf8.h"
#include "server/store/entry_messages.h"

namespace neffcache {
namespace {

int64_t Millis(absl::Duration duration) {
  return absl::ToInt64Milliseconds(duration);
}

v1::Compile::State ToWire(CompileView::State state) {
  switch (state) {
    case CompileView::State::kNeedsGraph:
      return v1::Compile::STATE_NEEDS_GRAPH;
    case CompileView::State::kQueued:
      return v1::Compile::STATE_QUEUED;
    case CompileView::State::kRunning:
      return v1::Compile::STATE_RUNNING;
  }
  return v1::Compile::STATE_UNSPECIFIED;
}

}  // namespace

v1::Queued ToWire(const QueuedEvent& event) {
  v1::Queued wire;
  wire.set_position(event.position);
  wire.set_expected_wait_ms(Millis(event.expected_wait));
  wire.set_reason(ToUtf8(event.reason));
  return wire;
}

v1::Running ToWire(const RunningEvent& event) {
  v1::Running wire;
  wire.set_elapsed_ms(Millis(event.elapsed));
  wire.set_expected_ms(Millis(event.expected));
  wire.set_memory_bytes(event.memory_bytes);
  wire.set_last_log_line(ToUtf8(event.last_log_line));
  wire.set_worker(event.worker);
  wire.set_attempt(event.attempt);
  return wire;
}

v1::Compile ToWire(const CompileView& view) {
  v1::Compile wire;
  wire.set_key(std::string(view.key.bytes()));
  *wire.mutable_material() = ToMessage(view.material);
  wire.set_state(ToWire(view.state));
  wire.set_position(view.position);
  wire.set_waiters(view.waiters);
  wire.set_elapsed_ms(Millis(view.elapsed));
  wire.set_expected_ms(Millis(view.expected));
  wire.set_memory_bytes(view.memory_bytes);
  wire.set_worker(view.worker);
  wire.set_last_log_line(ToUtf8(view.last_log_line));
  wire.set_attempt(view.attempt);
  wire.set_graph_name(ToUtf8(view.graph_name));
  wire.set_reason(ToUtf8(view.reason));
  return wire;
}

v1::Worker ToWire(const WorkerView& view) {
  v1::Worker wire;
  wire.set_name(view.offer.name);
  for (const Toolchain& toolchain : view.offer.toolchains) {
    *wire.add_toolchains() = ToMessage(toolchain);
  }
  wire.set_slots(view.offer.slots);
  wire.set_busy(view.busy);
  wire.set_memory_bytes(view.offer.memory_bytes);
  wire.set_reserved_bytes(view.reserved_bytes);
  wire.set_embedded(view.offer.embedded);
  wire.set_connected_ms(Millis(view.connected));
  wire.set_compiles_done(view.compiles_done);
  wire.set_compiles_failed(view.compiles_failed);
  wire.set_draining(view.draining);
  return wire;
}

v1::Lease ToWire(const Lease& lease, uint64_t output_limit_bytes) {
  v1::Lease wire;
  wire.set_token(lease.token);
  wire.set_key(std::string(lease.key.bytes()));
  *wire.mutable_toolchain() = ToMessage(lease.material.toolchain);
  wire.mutable_options()->Assign(lease.material.options.begin(), lease.material.options.end());
  wire.set_graph_digest(OptionalBytes(lease.graph.digest));
  wire.set_graph_size(lease.graph.size);
  wire.set_time_limit_ms(Millis(lease.time_limit));
  wire.set_memory_limit_bytes(lease.memory_limit_bytes);
  wire.set_output_limit_bytes(output_limit_bytes);
  wire.set_graph_name(ToUtf8(lease.graph.name));
  return wire;
}

}  // namespace neffcache
