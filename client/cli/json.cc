#include "client/cli/json.h"

#include <string>

#include "absl/strings/escaping.h"
#include "client/wire.h"

namespace neffcache::cli {
namespace {

double SecondsOfMs(int64_t ms) {
  return static_cast<double>(ms) / 1000;
}

// Protobuf leaves out what has its default value, and so do the documents.
template <typename Value>
void Set(Json& json, const char* name, const Value& value) {
  if (value != Value()) json[name] = value;
}

}  // namespace

double Seconds(absl::Duration duration) {
  return static_cast<double>(absl::ToInt64Milliseconds(duration)) / 1000;
}

std::string Hex(absl::string_view bytes) {
  return absl::BytesToHexString(bytes);
}

absl::string_view StateName(KeyState::State state) {
  switch (state) {
    case KeyState::State::kReady:
      return "ready";
    case KeyState::State::kCompiling:
      return "compiling";
    case KeyState::State::kFailed:
      return "failed";
    case KeyState::State::kAbsent:
      break;
  }
  return "absent";
}

absl::string_view StateName(v1::Compile::State state) {
  switch (state) {
    case v1::Compile::STATE_NEEDS_GRAPH:
      return "needs-graph";
    case v1::Compile::STATE_RUNNING:
      return "running";
    default:
      return "queued";
  }
}

Json ToJson(const Toolchain& toolchain) {
  return {{"name", toolchain.name}, {"version", toolchain.version}};
}

Json ToJson(const ArtifactName& artifact) {
  return {{"digest", artifact.digest}, {"size", artifact.size}};
}

Json ToJson(const CompileFailure& failure) {
  Json json = {{"class", failure.failure_class},
               {"message", failure.message},
               {"exit_code", failure.exit_code}};
  Set(json, "signal", failure.signal);
  Set(json, "worker", failure.worker);
  json["attempts"] = failure.attempts;
  json["remembered"] = failure.remembered;
  Set(json, "log_tail", failure.log_tail);
  return json;
}

Json ToJson(const GraphIdentity& graph) {
  Json json = {{"fingerprint", ToString(graph.fingerprint)},
               {"form", std::string(ToString(graph.form))}};
  Set(json, "name", graph.name);
  Set(json, "computations", graph.computations);
  Set(json, "instructions", graph.instructions);
  if (!graph.dropped.empty()) json["dropped"] = graph.dropped.Hex();
  for (const KernelFile& file : graph.files) {
    json["files"].push_back({{"path", file.path}, {"digest", file.digest.Hex()}});
  }
  Set(json, "raw_reason", graph.raw_reason);
  Set(json, "uncacheable_reason", graph.uncacheable_reason);
  return json;
}

Json ToJson(const GraphParts& parts) {
  Json computations = Json::array();
  for (const ComputationPart& part : parts.computations) {
    computations.push_back({{"content", part.content.Hex()},
                            {"instructions", part.instructions},
                            {"name", part.name}});
  }
  return {{"signature", parts.signature.Hex()},
          {"attributes", parts.attributes.Hex()},
          {"skeleton", parts.skeleton.Hex()},
          {"computations", std::move(computations)}};
}

Json ToJson(const v1::Toolchain& toolchain) {
  return {{"name", toolchain.name()}, {"version", toolchain.version()}};
}

Json ToJson(const v1::Failure& failure) {
  Json json = ToJson(FailureFrom(failure));
  json["failed_at"] = SecondsOfMs(failure.failed_at_ms());
  if (failure.remembered_until_ms() != 0) {
    json["remembered_until"] = SecondsOfMs(failure.remembered_until_ms());
  }
  return json;
}

Json ToJson(const v1::Entry& entry) {
  const v1::KeyMaterial& material = entry.material();
  Json json = {{"key", Hex(entry.key())},
               {"state", entry.has_ready()    ? "ready"
                         : entry.has_failed() ? "failed"
                                              : "absent"}};
  if (entry.has_ready()) {
    json["artifact"] = {{"digest", Hex(entry.ready().digest())}, {"size", entry.ready().size()}};
  }
  if (entry.has_failed()) json["failure"] = ToJson(entry.failed());
  json["fingerprint"] = material.fingerprint().tag() + ":" + Hex(material.fingerprint().digest());
  json["options"] = Json::array();
  for (const std::string& option : material.options()) json["options"].push_back(option);
  json["toolchain"] = ToJson(material.toolchain());
  json["created_at"] = SecondsOfMs(entry.created_at_ms());
  if (entry.compile_time_ms() != 0) json["compile_time"] = SecondsOfMs(entry.compile_time_ms());
  Set(json, "peak_memory", entry.peak_memory_bytes());
  Set(json, "graph_digest", Hex(entry.graph_digest()));
  Set(json, "graph_size", entry.graph_size());
  Set(json, "log_digest", Hex(entry.log_digest()));
  Set(json, "worker", entry.worker());
  Set(json, "graph_name", entry.graph_name());
  Set(json, "instructions", entry.instructions());
  return json;
}

Json ToJson(const v1::BundleSummary& bundle) {
  return {{"name", bundle.name()},
          {"keys", bundle.keys()},
          {"ready", bundle.ready()},
          {"bytes", bundle.bytes()},
          {"last_seen", SecondsOfMs(bundle.last_seen_ms())}};
}

Json ToJson(const v1::Compile& compile) {
  Json json = {{"key", Hex(compile.key())},
               {"state", std::string(StateName(compile.state()))},
               {"toolchain", ToJson(compile.material().toolchain())},
               {"waiters", compile.waiters()},
               {"elapsed", SecondsOfMs(compile.elapsed_ms())}};
  if (compile.state() == v1::Compile::STATE_QUEUED) json["position"] = compile.position();
  if (compile.expected_ms() != 0) json["expected"] = SecondsOfMs(compile.expected_ms());
  Set(json, "memory", compile.memory_bytes());
  Set(json, "worker", compile.worker());
  Set(json, "last_log_line", compile.last_log_line());
  Set(json, "attempt", compile.attempt());
  Set(json, "graph_name", compile.graph_name());
  Set(json, "reason", compile.reason());
  if (compile.has_miss()) json["miss"] = ToJson(compile.miss());
  return json;
}

Json ToJson(const v1::Worker& worker) {
  Json toolchains = Json::array();
  for (const v1::Toolchain& toolchain : worker.toolchains()) {
    toolchains.push_back(ToJson(toolchain));
  }
  return {{"name", worker.name()},
          {"toolchains", std::move(toolchains)},
          {"slots", worker.slots()},
          {"busy", worker.busy()},
          {"memory", worker.memory_bytes()},
          {"reserved", worker.reserved_bytes()},
          {"embedded", worker.embedded()},
          {"connected", SecondsOfMs(worker.connected_ms())},
          {"compiles_done", worker.compiles_done()},
          {"compiles_failed", worker.compiles_failed()},
          {"draining", worker.draining()}};
}

Json ToJson(const v1::Miss& miss) {
  Json json = {{"explanation", miss.explanation()}};
  Set(json, "nearest_key", Hex(miss.nearest_key()));
  json["explained_at"] = SecondsOfMs(miss.explained_at_ms());
  return json;
}

Json ToJson(const v1::Stats& stats) {
  return {{"version", stats.version()},
          {"uptime", SecondsOfMs(stats.uptime_ms())},
          {"entries_ready", stats.entries_ready()},
          {"entries_failed", stats.entries_failed()},
          {"artifacts", stats.artifacts()},
          {"artifact_bytes", stats.artifact_bytes()},
          {"lookups", stats.lookups()},
          {"hits", stats.hits()},
          {"compiles_queued", stats.compiles_queued()},
          {"compiles_running", stats.compiles_running()},
          {"compiles_done", stats.compiles_done()},
          {"compiles_failed", stats.compiles_failed()},
          {"compiles_joined", stats.compiles_joined()},
          {"compile_time_saved", SecondsOfMs(stats.compile_time_saved_ms())},
          {"bytes_served", stats.bytes_served()},
          {"workers", stats.workers()},
          {"slots", stats.slots()},
          {"damaged", stats.damaged()}};
}

}  // namespace neffcache::cli
