#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "server/store/store.h"
#include "tests/io/status_matchers.h"
#include "tests/io/temporary_directory.h"

namespace neffcache {

// A key of its own for each number.
Key KeyOf(int number);

// An entry that names `artifact` as its own, with every field set.
Entry ReadyEntry(int number, absl::string_view artifact);
Entry FailedEntry(int number, absl::Time remembered_until);
QueuedCompile QueuedFor(int number, absl::string_view graph);

StagedContent StageArtifact(Store& store, absl::string_view bytes);
StagedContent StageCompressed(Store& store, ContentKind kind, absl::string_view bytes);

// Commits `artifact` under the key of that number.
Store::Committed CommitArtifact(Store& store, int number, absl::string_view artifact);

// All of an artifact, a graph or a log as it was before it was stored.
std::string ContentOf(const Store& store, ContentKind kind, const Digest& digest);

// Bytes that do not compress and differ for each seed.
std::string Noise(size_t size, uint32_t seed);

// A store in a directory of its own, under a clock that the test moves.
class StoreTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kInlineLimit = 1000;

  void SetUp() override { Reopen(); }

  StoreOptions Options();
  // Closes the store and opens it again.
  void Reopen();

  std::string ArtifactPath(const Digest& digest) const;
  std::string RecordPath(const Key& key) const;
  std::vector<std::string> FilesIn(const std::string& directory) const;

  TemporaryDirectory directory_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::vector<std::string> steps_;
  std::unique_ptr<Store> store_;
};

}  // namespace neffcache
