#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/near_entry.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

// Parts of a graph with these computations of 10 instructions each.
GraphParts PartsWith(const std::vector<std::string>& computations) {
  GraphParts parts;
  std::string all;
  for (const std::string& name : computations) {
    parts.computations.push_back({Sha256Of(name), 10, name});
    absl::StrAppend(&all, name, ",");
  }
  parts.signature = Sha256Of(absl::StrCat("signature of ", all));
  parts.attributes = Sha256Of("attributes");
  parts.skeleton = Sha256Of(absl::StrCat("skeleton of ", all));
  return parts;
}

class NearTest : public StoreTest {
 protected:
  // An entry whose graph is called so; each has an artifact of its own.
  Entry Add(int number, const absl::optional<GraphParts>& parts, const std::string& name = "") {
    const std::string artifact = absl::StrCat("artifact ", number);
    Entry entry = ReadyEntry(number, artifact);
    entry.graph.name = name;
    EXPECT_THAT(store_->CommitReady(entry, StageArtifact(*store_, artifact), absl::nullopt),
                IsOk());
    EXPECT_THAT(store_->IndexParts(entry.key, parts), IsOk());
    now_ += absl::Seconds(1);
    return entry;
  }

  static NearQuery QueryFor(int number, const absl::optional<GraphParts>& parts,
                            const std::string& name = "") {
    NearQuery query;
    query.key = KeyOf(number);
    query.material = ReadyEntry(number, "").material;
    query.graph_name = name;
    query.instructions = 678;
    query.parts = parts;
    return query;
  }

  std::vector<Key> Nearest(const NearQuery& query) const {
    const auto found = store_->Nearest(query);
    EXPECT_THAT(found, IsOk());
    std::vector<Key> keys;
    for (const NearEntry& near : *found) keys.push_back(near.entry.key);
    return keys;
  }
};

TEST_F(NearTest, NothingIsNearInAnEmptyStore) {
  EXPECT_TRUE(Nearest(QueryFor(1, PartsWith({"a"}), "jit_step")).empty());
}

TEST_F(NearTest, TheSameGraphIsNearerThanTheSameSkeletonThanSharedComputationsThanAName) {
  const GraphParts parts = PartsWith({"a", "b", "c", "d"});
  NearQuery query = QueryFor(9, parts, "jit_step");
  const Entry named = Add(1, PartsWith({"x"}), "jit_step");
  const Entry sharing = Add(2, PartsWith({"a", "b", "c", "e"}), "other");
  GraphParts same_skeleton = PartsWith({"y", "z"});
  same_skeleton.skeleton = parts.skeleton;
  const Entry skeleton = Add(3, same_skeleton, "other");
  const Entry same = Add(4, absl::nullopt, "other");
  query.material.fingerprint = same.material.fingerprint;
  EXPECT_EQ(Nearest(query), (std::vector<Key>{same.key, skeleton.key, sharing.key, named.key}));
}

TEST_F(NearTest, AnEntryThatSharesNothingIsNotNear) {
  Add(1, PartsWith({"a", "b"}), "jit_loss");
  EXPECT_TRUE(Nearest(QueryFor(2, PartsWith({"c", "d"}), "jit_step")).empty());
  EXPECT_TRUE(Nearest(QueryFor(2, absl::nullopt)).empty());
}

TEST_F(NearTest, AKeyIsNotNearItself) {
  const GraphParts parts = PartsWith({"a"});
  Add(1, parts, "jit_step");
  EXPECT_TRUE(Nearest(QueryFor(1, parts, "jit_step")).empty());
}

TEST_F(NearTest, TheNumberBehindANameDoesNotCount) {
  const Entry entry = Add(1, absl::nullopt, "SyncTensorsGraph.1234");
  EXPECT_EQ(Nearest(QueryFor(2, absl::nullopt, "SyncTensorsGraph.99")),
            std::vector<Key>{entry.key});
}

TEST_F(NearTest, OfManyThatAreAlikeOnlyTheNewestAreLookedAt) {
  const GraphParts parts = PartsWith({"a"});
  for (int number = 1; number <= 40; ++number) Add(number, parts);
  const std::vector<Key> nearest = Nearest(QueryFor(99, parts));
  ASSERT_EQ(nearest.size(), 4u);
  for (const Key& key : nearest) {
    bool is_new = false;
    for (int number = 33; number <= 40; ++number) is_new = is_new || key == KeyOf(number);
    EXPECT_TRUE(is_new) << key.Hex();
  }
}

TEST_F(NearTest, PartsComeBackBoundedAndSurviveAReopening) {
  GraphParts parts;
  for (int i = 0; i < 500; ++i) {
    const std::string name = absl::StrCat("region_", i);
    parts.computations.push_back({Sha256Of(name), static_cast<uint64_t>(i), name});
  }
  parts.skeleton = Sha256Of("skeleton");
  Add(1, parts);
  Reopen();
  const auto found = store_->Nearest(QueryFor(2, parts));
  ASSERT_THAT(found, IsOk());
  ASSERT_EQ(found->size(), 1u);
  ASSERT_TRUE(found->front().parts.has_value());
  EXPECT_EQ(*found->front().parts, LargestParts(parts, 128));
  EXPECT_EQ(found->front().parts->computations.front().name, "region_372");
}

TEST_F(NearTest, WhatIsQuarantinedOrForgottenIsNotFound) {
  const GraphParts parts = PartsWith({"a"});
  const Entry entry = Add(1, parts);
  ASSERT_THAT(store_->RecordMiss(entry.key, {"why", Key(), now_}), IsOk());
  Entry failed = FailedEntry(2, now_ + absl::Hours(1));
  ASSERT_THAT(store_->CommitFailed(failed, absl::nullopt), IsOk());
  ASSERT_THAT(store_->IndexParts(failed.key, parts), IsOk());
  EXPECT_EQ(Nearest(QueryFor(9, parts)).size(), 2u);
  ASSERT_THAT(store_->ForgetFailure(failed.key), IsOk());
  EXPECT_EQ(Nearest(QueryFor(9, parts)), std::vector<Key>{entry.key});
  ASSERT_THAT(store_->Quarantine(entry.ready()->digest), IsOk());
  EXPECT_TRUE(Nearest(QueryFor(9, parts)).empty());
  EXPECT_THAT(store_->FindMiss(entry.key), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->IndexParts(entry.key, parts), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(NearTest, WhyIsKeptForWhatIsQueuedOrHasAnEntryAlone) {
  const Miss miss = {"no entry is like it", KeyOf(7), absl::FromUnixSeconds(1'700'000'000)};
  EXPECT_THAT(store_->RecordMiss(KeyOf(1), miss), HasCode(absl::StatusCode::kNotFound));
  const QueuedCompile queued = QueuedFor(1, "graph");
  ASSERT_THAT(store_->Enqueue(queued, StageCompressed(*store_, ContentKind::kGraph, "graph")),
              IsOk());
  ASSERT_THAT(store_->RecordMiss(queued.key, miss), IsOk());
  EXPECT_EQ(*store_->FindMiss(queued.key), miss);
  // Kept with the entry that comes of it...
  CommitArtifact(*store_, 1, "artifact");
  EXPECT_EQ(*store_->FindMiss(queued.key), miss);
  const std::vector<Key> keys = {KeyOf(2), queued.key};
  const auto misses = store_->FindMisses(keys);
  EXPECT_FALSE(misses[0].has_value());
  EXPECT_EQ(misses[1], miss);
  // ...and gone where none does.
  const QueuedCompile failing = QueuedFor(3, "graph");
  ASSERT_THAT(store_->Enqueue(failing, absl::nullopt), IsOk());
  ASSERT_THAT(store_->RecordMiss(failing.key, miss), IsOk());
  ASSERT_THAT(store_->CommitFailed(FailedEntry(3, absl::InfinitePast()), absl::nullopt), IsOk());
  EXPECT_THAT(store_->FindMiss(failing.key), HasCode(absl::StatusCode::kNotFound));
  const QueuedCompile dropped = QueuedFor(4, "graph");
  ASSERT_THAT(store_->Enqueue(dropped, absl::nullopt), IsOk());
  ASSERT_THAT(store_->RecordMiss(dropped.key, miss), IsOk());
  ASSERT_THAT(store_->Dequeue(dropped.key), IsOk());
  EXPECT_THAT(store_->FindMiss(dropped.key), HasCode(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace neffcache
