// Measures how fast graphs are identified, against sha256sum of the same file.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/fingerprint.h"
#include "io/digest.h"
#include "io/file.h"
#include "tests/bench/measurement.h"
#include "tests/bench/peak_memory.h"
#include "tests/bench/synthetic_graph.h"

namespace neffcache::bench {
namespace {

void WriteFile(const std::string& path, absl::string_view bytes) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  Require(file.status());
  Require(file->Write(bytes));
  Require(file->Commit(Durability::kBuffered));
}

GraphIdentity Identify(const std::string& path) {
  const absl::StatusOr<FileContents> loaded = FileContents::Load(path);
  Require(loaded.status());
  absl::StatusOr<GraphIdentity> identity = IdentifyGraph(loaded->bytes());
  Require(identity.status());
  return *std::move(identity);
}

// Against the program, which for a small file is all start-up, and against the same hash function
// in this process.
void Measure(const std::string& name, const std::string& path, int rounds, Report& report) {
  absl::StatusOr<FileContents> contents = FileContents::Load(path);
  Require(contents.status());
  const double megabytes = static_cast<double>(contents->bytes().size()) / 1e6;
  // What a small graph takes is below the clock's noise.
  const int repeat = megabytes < 1 ? 20 : 1;
  std::string form;
  Digest digest;
  PeakMemory memory;
  const uint64_t instructions = Identify(path).instructions;
  const double peak = static_cast<double>(memory.Stop()) / 1e6;
  const std::vector<std::vector<absl::Duration>> times =
      TimeInTurns(rounds, {[&] {
                             for (int i = 0; i < repeat; ++i) {
                               const GraphIdentity identity = Identify(path);
                               form = identity.raw_reason.empty() ? identity.fingerprint.tag
                                                                  : "raw: " + identity.raw_reason;
                             }
                           },
                           [&] {
                             for (int i = 0; i < repeat; ++i) digest = Sha256Of(contents->bytes());
                           },
                           [&] {
                             RunProgram({"sha256sum", path});
                           }});
  if (digest.empty()) Require(absl::InternalError("hashing gave nothing"));
  const double identify = absl::ToDoubleSeconds(Best(times[0])) / repeat;
  const double hash = absl::ToDoubleSeconds(Best(times[1])) / repeat;
  const double program = absl::ToDoubleSeconds(Best(times[2]));
  report.Add(absl::StrCat(name, " [", form, "]"),
             {megabytes, static_cast<double>(instructions), megabytes / identify,
              megabytes / program, program / identify, megabytes / hash, hash / identify, peak,
              64 + 150 * static_cast<double>(instructions) / 1e6});
}

int Main(int argc, char** argv) {
  CLI::App app("Measures the fingerprint of graphs against sha256sum of the same files.");
  std::vector<std::string> graphs;
  uint64_t synthetic_mb = 256;
  uint64_t sparse_gb = 0;
  int rounds = 5;
  bool once = false;
  std::string write;
  std::string json;
  app.add_option("graph", graphs, "Graph files to measure besides the synthetic ones.");
  app.add_option("--synthetic-mb", synthetic_mb, "Size of the synthetic graphs.")
      ->capture_default_str();
  app.add_option("--sparse-gb", sparse_gb, "Size of a graph with one literal, a hole; 0: none.")
      ->capture_default_str();
  app.add_option("--write", write, "Only write the synthetic graphs, into this directory.");
  app.add_flag("--once", once, "Only identify each GRAPH once, for profilers.");
  app.add_option("--rounds", rounds, "Times each is measured; the best counts.")
      ->capture_default_str();
  app.add_option("--json", json, "File for the figures.");
  CLI11_PARSE(app, argc, argv);

  if (!write.empty()) {
    WriteFile(write + "/literal-heavy.hlo_module.pb", LiteralHeavyGraph(synthetic_mb << 20));
    WriteFile(write + "/instruction-heavy.hlo_module.pb",
              InstructionHeavyGraph(synthetic_mb << 20));
    return EXIT_SUCCESS;
  }
  if (once) {
    for (const std::string& graph : graphs) Identify(graph);
    return EXIT_SUCCESS;
  }
  Report report("fingerprint", {"MB", "instructions", "MB/s", "sha256sum MB/s", "to sha256sum",
                                "OpenSSL SHA-256 MB/s", "to SHA-256", "peak MB", "bar MB"});
  std::string directory =
      (std::filesystem::temp_directory_path() / "neffcache-bench-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) Require(absl::ErrnoToStatus(errno, directory));
  const std::string path = directory + "/graph.hlo_module.pb";
  WriteFile(path, LiteralHeavyGraph(synthetic_mb << 20));
  Measure("literal-heavy", path, rounds, report);
  WriteFile(path, InstructionHeavyGraph(synthetic_mb << 20));
  Measure("instruction-heavy", path, rounds, report);
  if (sparse_gb > 0) {
    Require(WriteSparseLiteralGraph(path, sparse_gb << 30));
    Measure("sparse literal", path, 1, report);
  }
  std::filesystem::remove_all(directory);
  for (const std::string& graph : graphs) {
    Measure(std::filesystem::path(graph).filename().string(), graph, rounds, report);
  }
  report.Print();
  Require(report.Save(json));
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace neffcache::bench

int main(int argc, char** argv) {
  return neffcache::bench::Main(argc, argv);
}
