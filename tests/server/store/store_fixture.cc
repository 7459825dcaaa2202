#include "tests/server/store/store_fixture.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/zstd.h"

namespace neffcache {
namespace {

StagedContent Stage(Store& store, ContentKind kind, absl::string_view bytes) {
  ContentWriter writer = store.Stage(kind).value();
  // In two pieces, as content comes.
  EXPECT_THAT(writer.Write(bytes.substr(0, bytes.size() / 2)), IsOk());
  EXPECT_THAT(writer.Write(bytes.substr(bytes.size() / 2)), IsOk());
  return std::move(writer).Finish().value();
}

KeyMaterial MaterialOf(int number) {
  return {{"neffcache-hlo-1", Sha256Of(absl::StrCat("canonical form ", number))},
          {"--target=trn1", "--optlevel=2"},
          {"neuronx-cc", "2.27.5334.0+2d4f85be"}};
}

}  // namespace

Key KeyOf(int number) {
  return ComputeKey(MaterialOf(number));
}

Entry ReadyEntry(int number, absl::string_view artifact) {
  Entry entry;
  entry.key = KeyOf(number);
  entry.material = MaterialOf(number);
  entry.state = Artifact{Sha256Of(artifact), artifact.size()};
  entry.created = absl::FromUnixMillis(1'690'000'000'123);
  entry.compile_time = absl::Milliseconds(61'002);
  entry.peak_memory_bytes = uint64_t{5} << 30;
  entry.graph = {Sha256Of(absl::StrCat("graph ", number)), 12'345, "jit_train_step", 678};
  entry.worker = "worker-1";
  entry.fencing_token = 99;
  return entry;
}

Entry FailedEntry(int number, absl::Time remembered_until) {
  Entry entry = ReadyEntry(number, "");
  Failure failure;
  failure.failure_class = FailureClass::kDeterministic;
  failure.message = "the compiler refused the graph";
  failure.exit_code = 70;
  failure.log_tail = "[NCC_EVRF001] unsupported";
  failure.failed_at = absl::FromUnixSeconds(1'700'000'000);
  failure.remembered_until = remembered_until;
  failure.worker = "worker-1";
  failure.attempts = 2;
  entry.state = failure;
  return entry;
}

QueuedCompile QueuedFor(int number, absl::string_view graph) {
  QueuedCompile compile;
  compile.key = KeyOf(number);
  compile.material = MaterialOf(number);
  compile.graph = {Sha256Of(graph), graph.size(), "jit_train_step", 678};
  compile.purpose = Purpose::kTrainer;
  compile.queued = absl::FromUnixSeconds(1'700'000'000 + number);
  return compile;
}

StagedContent StageArtifact(Store& store, absl::string_view bytes) {
  return Stage(store, ContentKind::kArtifact, bytes);
}

StagedContent StageCompressed(Store& store, ContentKind kind, absl::string_view bytes) {
  return Stage(store, kind, ZstdCompress(bytes));
}

Store::Committed CommitArtifact(Store& store, int number, absl::string_view artifact) {
  return store
      .CommitReady(ReadyEntry(number, artifact), StageArtifact(store, artifact), absl::nullopt)
      .value();
}

std::string ContentOf(const Store& store, ContentKind kind, const Digest& digest) {
  const absl::StatusOr<ContentReader> reader = store.OpenContent(kind, digest);
  EXPECT_THAT(reader, IsOk());
  if (!reader.ok()) return "";
  std::string bytes(reader->stored_size() + 1, '\0');  // One more, to see that it ends.
  bytes.resize(reader->ReadAt(0, std::span<char>(bytes)).value());
  EXPECT_EQ(bytes.size(), reader->stored_size());
  if (kind == ContentKind::kArtifact) return bytes;
  return ZstdDecompress(bytes, uint64_t{1} << 30).value();
}

std::string Noise(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  std::generate(bytes.begin(), bytes.end(), [&random] { return static_cast<char>(random()); });
  return bytes;
}

StoreOptions StoreTest::Options() {
  StoreOptions options;
  options.data_dir = directory_ / "data";
  options.inline_limit = kInlineLimit;
  options.min_free_bytes = 0;
  options.clock = [this] { return now_; };
  options.on_step = [this](absl::string_view step) { steps_.emplace_back(step); };
  return options;
}

void StoreTest::Reopen() {
  store_.reset();
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(Options());
  ASSERT_THAT(store, IsOk());
  store_ = *std::move(store);
}

std::string StoreTest::ArtifactPath(const Digest& digest) const {
  return absl::StrCat(directory_ / "data/artifacts/", digest.Hex().substr(0, 2), "/", digest.Hex());
}

std::string StoreTest::RecordPath(const Key& key) const {
  return absl::StrCat(directory_ / "data/records/", key.Hex().substr(0, 2), "/", key.Hex());
}

std::vector<std::string> StoreTest::FilesIn(const std::string& directory) const {
  std::vector<std::string> files;
  for (const auto& item : std::filesystem::recursive_directory_iterator(directory)) {
    if (item.is_regular_file()) files.push_back(item.path().string());
  }
  return files;
}

}  // namespace neffcache
