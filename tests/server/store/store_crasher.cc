// Opens the store in a directory, does one thing with it and dies by SIGKILL at a given step:
//   store_crasher DIRECTORY commit|enqueue STEP
// A program of its own, because RocksDB's threads do not survive a fork. Ends with 3 when the step
// never came.

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "io/zstd.h"
#include "server/store/store.h"
#include "tests/server/store/crash_scenario.h"

namespace neffcache {
namespace {

absl::StatusOr<StagedContent> Stage(Store& store, ContentKind kind, const std::string& bytes) {
  absl::StatusOr<ContentWriter> writer = store.Stage(kind);
  if (!writer.ok()) return writer.status();
  const absl::Status written = writer->Write(bytes);
  if (!written.ok()) return written;
  return std::move(*writer).Finish();
}

absl::Status Run(const std::string& directory, const std::string& action, const std::string& step) {
  const auto die_at = [&step](absl::string_view now) {
    if (now == step) kill(getpid(), SIGKILL);
  };
  StoreOptions options = CrashOptions(directory);
  options.on_step = die_at;
  absl::StatusOr<std::unique_ptr<Store>> opened = Store::Open(options);
  if (!opened.ok()) return opened.status();
  Store& store = **opened;
  if (action == "enqueue") {
    absl::StatusOr<StagedContent> graph =
        Stage(store, ContentKind::kGraph, ZstdCompress(CrashGraph()));
    if (!graph.ok()) return graph.status();
    die_at("staged");
    return store.Enqueue(CrashQueued(), *std::move(graph));
  }
  const bool is_inline = action == "commit-inline";
  absl::StatusOr<StagedContent> artifact =
      Stage(store, ContentKind::kArtifact, CrashArtifact(is_inline));
  if (!artifact.ok()) return artifact.status();
  absl::StatusOr<StagedContent> log = Stage(store, ContentKind::kLog, ZstdCompress("log"));
  if (!log.ok()) return log.status();
  die_at("staged");
  return store.CommitReady(CrashEntry(is_inline), *std::move(artifact), *std::move(log)).status();
}

}  // namespace
}  // namespace neffcache

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const absl::Status status = neffcache::Run(argv[1], argv[2], argv[3]);
  if (status.ok()) return 3;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
