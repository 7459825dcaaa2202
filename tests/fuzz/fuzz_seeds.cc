// Writes a small corpus for each fuzzer into DIR/explain, DIR/fingerprint, DIR/options and DIR/nki.

#include <iostream>

#include "absl/strings/escaping.h"
#include "io/file.h"
#include "io/zstd.h"
#include "tests/graph/hlo_builder.h"

namespace neffcache {
namespace {

absl::Status WriteSeed(const std::string& directory, int number, const std::string& bytes) {
  if (absl::Status status = CreateDirectories(directory); !status.ok()) return status;
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(absl::StrCat(directory, "/seed", number));
  if (!file.ok()) return file.status();
  if (absl::Status status = file->Write(bytes); !status.ok()) return status;
  return file->Commit(Durability::kBuffered);
}

std::vector<std::string> GraphSeeds() {
  ProtoMessage rich = SmallModule();
  ProtoMessage call = Instruction("call", 9, {3});
  rich.At(3).Message(2, call.Varint(38, 2)).Message(2, Instruction("rng", 10, {1}));
  rich.At(3).Message(2, Instruction("rng", 11, {1}));
  InstructionAt(rich, 0, 3).Varints(37, {10, 11}).Bytes(28, "AwsNeuronCustomNativeKernel");
  InstructionAt(rich, 0, 3)
      .Bytes(43, absl::Base64Escape(R"({"klir_binary": {"binary": "/a/k.klir"}})"));
  rich.Message(3, Computation(2, 1, {Parameter(1, 0)}));
  ProtoMessage schedule = {.type = HloMessage::kSchedule, .fields = {}};
  ProtoMessage entry = {.type = HloMessage::kScheduleEntry, .fields = {}};
  ProtoMessage sequence = {.type = HloMessage::kInstructionSequence, .fields = {}};
  entry.Varint(1, 1).Message(2, sequence.Varints(1, {1, 2, 3, 4}));
  rich.Message(7, schedule.Message(1, entry)).Bytes(22, "payload");
  ProtoMessage proto;
  proto.Message(1, SmallModule());
  return {Serialize(SmallModule()), Serialize(rich), Serialize(proto),
          ZstdCompress(Serialize(SmallModule())), "ML\xefR"};
}

// Each graph beside a changed one, and beside the next.
std::vector<std::string> PairSeeds() {
  const auto join = [](const std::string& before, const std::string& after) {
    std::string joined;
    for (int shift = 0; shift < 32; shift += 8) {
      joined.push_back(static_cast<char>(before.size() >> shift));
    }
    return joined + before + after;
  };
  std::vector<std::string> seeds;
  const std::vector<std::string> graphs = GraphSeeds();
  for (size_t i = 0; i < graphs.size(); ++i) {
    seeds.push_back(join(graphs[i], graphs[(i + 1) % graphs.size()]));
    std::string changed = graphs[i];
    changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
    seeds.push_back(join(graphs[i], changed));
  }
  ProtoMessage inserted = SmallModule();
  inserted.At(3).Message(2, Instruction("convert", 9, {1}));
  InstructionAt(inserted, 0, 2).Remove(36);
  InstructionAt(inserted, 0, 2).Varints(36, {9, 2});
  seeds.push_back(join(Serialize(SmallModule()), Serialize(inserted)));
  return seeds;
}

}  // namespace
}  // namespace neffcache

int main(int argc, char** argv) {
  using namespace neffcache;
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds DIR\n";
    return 2;
  }
  const std::string directory = argv[1];
  const std::vector<std::pair<std::string, std::vector<std::string>>> corpora = {
      {"explain", PairSeeds()},
      {"fingerprint", GraphSeeds()},
      {"options",
       {"compile\n--framework=XLA\ng.hlo.pb\n--output\ng.neff\n--target=trn1\n-O1\n--verbose=35",
        "--target\ntrn2\ncompile\n-lnc\n2\n--pipeline\ncompile\nSaveTemps\n--enable-dge"}},
      {"nki",
       {R"({"func_name": "f", "klir_binary": {"binary": "/a/k.klir", "x": [1, 2.5, null]}})"}},
  };
  for (const auto& [name, seeds] : corpora) {
    int number = 0;
    for (const std::string& seed : seeds) {
      const absl::Status status = WriteSeed(directory + "/" + name, number++, seed);
      if (!status.ok()) {
        std::cerr << "fuzz_seeds: " << status.message() << "\n";
        return 1;
      }
    }
  }
  return 0;
}
