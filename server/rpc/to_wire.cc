#include "server/rpc/to_wire.h"

#include <string>

#include "io/utf8.h"

namespace neffcache {
namespace {

int64_t Millis(absl::Duration duration) {
  return absl::ToInt64Milliseconds(duration);
}

// 0 for a time that is not set.
int64_t Millis(absl::Time time) {
  return time <= absl::UnixEpoch() ? 0 : absl::ToUnixMillis(time);
}

std::string BytesOf(const Digest& digest) {
  return digest.empty() ? std::string() : std::string(digest.bytes());
}

v1::FailureClass ToWire(FailureClass failure_class) {
  switch (failure_class) {
    case FailureClass::kDeterministic:
      return v1::FAILURE_CLASS_DETERMINISTIC;
    case FailureClass::kMemory:
      return v1::FAILURE_CLASS_MEMORY;
    case FailureClass::kTransient:
      return v1::FAILURE_CLASS_TRANSIENT;
    case FailureClass::kUnclear:
      return v1::FAILURE_CLASS_UNCLEAR;
  }
  return v1::FAILURE_CLASS_UNSPECIFIED;
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

v1::Toolchain ToWire(const Toolchain& toolchain) {
  v1::Toolchain wire;
  wire.set_name(toolchain.name);
  wire.set_version(toolchain.version);
  return wire;
}

v1::KeyMaterial ToWire(const KeyMaterial& material) {
  v1::KeyMaterial wire;
  wire.mutable_fingerprint()->set_tag(material.fingerprint.tag);
  wire.mutable_fingerprint()->set_digest(std::string(material.fingerprint.digest.bytes()));
  wire.mutable_options()->Assign(material.options.begin(), material.options.end());
  *wire.mutable_toolchain() = ToWire(material.toolchain);
  return wire;
}

v1::Artifact ToWire(const Artifact& artifact) {
  v1::Artifact wire;
  wire.set_digest(std::string(artifact.digest.bytes()));
  wire.set_size(artifact.size);
  return wire;
}

v1::Failure ToWire(const Failure& failure) {
  v1::Failure wire;
  wire.set_failure_class(ToWire(failure.failure_class));
  wire.set_message(ToUtf8(failure.message));
  wire.set_exit_code(failure.exit_code);
  wire.set_signal(failure.signal);
  wire.set_log_tail(ToUtf8(failure.log_tail));
  wire.set_failed_at_ms(Millis(failure.failed_at));
  wire.set_remembered_until_ms(Millis(failure.remembered_until));
  wire.set_worker(failure.worker);
  wire.set_attempts(failure.attempts);
  return wire;
}

v1::Entry ToWire(const Entry& entry) {
  v1::Entry wire = WithoutMaterial(entry);
  *wire.mutable_material() = ToWire(entry.material);
  return wire;
}

v1::Entry WithoutMaterial(const Entry& entry) {
  v1::Entry wire;
  wire.set_key(std::string(entry.key.bytes()));
  if (const Artifact* artifact = entry.ready()) *wire.mutable_ready() = ToWire(*artifact);
  if (const Failure* failure = entry.failed()) *wire.mutable_failed() = ToWire(*failure);
  wire.set_created_at_ms(Millis(entry.created));
  wire.set_compile_time_ms(Millis(entry.compile_time));
  wire.set_peak_memory_bytes(entry.peak_memory_bytes);
  wire.set_graph_digest(BytesOf(entry.graph.digest));
  wire.set_graph_size(entry.graph.size);
  wire.set_log_digest(BytesOf(entry.log));
  wire.set_worker(entry.worker);
  wire.set_graph_name(ToUtf8(entry.graph.name));
  wire.set_instructions(entry.graph.instructions);
  return wire;
}

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
  *wire.mutable_material() = ToWire(view.material);
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
    *wire.add_toolchains() = ToWire(toolchain);
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
  *wire.mutable_toolchain() = ToWire(lease.material.toolchain);
  wire.mutable_options()->Assign(lease.material.options.begin(), lease.material.options.end());
  wire.set_graph_digest(BytesOf(lease.graph.digest));
  wire.set_graph_size(lease.graph.size);
  wire.set_time_limit_ms(Millis(lease.time_limit));
  wire.set_memory_limit_bytes(lease.memory_limit_bytes);
  wire.set_output_limit_bytes(output_limit_bytes);
  wire.set_graph_name(ToUtf8(lease.graph.name));
  return wire;
}

}  // namespace neffcache
