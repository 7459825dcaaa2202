#include "tests/server/store/crash_scenario.h"

namespace neffcache {
namespace {

KeyMaterial Material() {
  return {{"neffcache-hlo-1", Sha256Of("canonical form")}, {}, {"neuronx-cc", "2.27"}};
}

}  // namespace

StoreOptions CrashOptions(const std::string& directory) {
  StoreOptions options;
  options.data_dir = directory;
  options.inline_limit = 1000;
  options.min_free_bytes = 0;
  return options;
}

std::string CrashArtifact(bool is_inline) {
  return std::string(is_inline ? 500 : 100'000, 'a');
}

Entry CrashEntry(bool is_inline) {
  Entry entry;
  entry.material = Material();
  entry.key = ComputeKey(entry.material);
  const std::string artifact = CrashArtifact(is_inline);
  entry.state = Artifact{Sha256Of(artifact), artifact.size()};
  return entry;
}

std::string CrashGraph() {
  return std::string(100'000, 'g');
}

QueuedCompile CrashQueued() {
  QueuedCompile compile;
  compile.material = Material();
  compile.key = ComputeKey(compile.material);
  compile.graph = {Sha256Of(CrashGraph()), CrashGraph().size(), "graph", 1};
  return compile;
}

}  // namespace neffcache
