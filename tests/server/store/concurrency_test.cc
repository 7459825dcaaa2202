#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "server/store/turns.h"
#include "tests/server/store/store_fixture.h"

namespace neffcache {
namespace {

constexpr int kThreads = 16;

class ConcurrencyTest : public StoreTest {
 protected:
  // Without the list of steps, which is for one thread.
  void SetUp() override {
    StoreOptions options = Options();
    options.on_step = nullptr;
    auto store = Store::Open(options);
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
  }

  // Runs `work` on all threads at once, with their numbers.
  static void OnAllThreads(const std::function<void(int)>& work) {
    absl::BlockingCounter ready(kThreads);
    absl::Notification start;
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        ready.DecrementCount();
        start.WaitForNotification();
        work(i);
      });
    }
    ready.Wait();
    start.Notify();
  }
};

TEST_F(ConcurrencyTest, OneOfManyWritersOfAKeyWinsAndAllLearnWhich) {
  std::array<Digest, kThreads> told;
  std::atomic<int> accepted = 0;
  OnAllThreads([&](int i) {
    const std::string artifact = Noise(i % 2 == 0 ? 500 : 5000, static_cast<uint32_t>(i));
    const Store::Committed committed = CommitArtifact(*store_, 1, artifact);
    accepted += committed.accepted ? 1 : 0;
    told[static_cast<size_t>(i)] = committed.entry.ready()->digest;
  });
  EXPECT_EQ(accepted, 1);
  const Digest winner = store_->Find(KeyOf(1))->ready()->digest;
  for (const Digest& digest : told) EXPECT_EQ(digest, winner);
  EXPECT_EQ(Sha256Of(ContentOf(*store_, ContentKind::kArtifact, winner)), winner);
  EXPECT_EQ(store_->Count()->entries_ready, 1u);
  EXPECT_EQ(store_->Count()->artifacts, 1u);
  EXPECT_TRUE(FilesIn(directory_ / "data/tmp").empty());
}

TEST_F(ConcurrencyTest, ManyKeysWithOneArtifactCountItOnce) {
  const std::string artifact = Noise(5000, 1);
  OnAllThreads([&](int i) { EXPECT_TRUE(CommitArtifact(*store_, i, artifact).accepted); });
  EXPECT_EQ(store_->Count()->entries_ready, uint64_t{kThreads});
  EXPECT_EQ(store_->Count()->artifacts, 1u);
  EXPECT_EQ(store_->Count()->artifact_bytes, artifact.size());
}

TEST_F(ConcurrencyTest, NoKeyIsReadyInMemoryAfterItsQuarantine) {
  for (int round = 0; round < 20; ++round) {
    const std::vector<Key> keys = {KeyOf(1), KeyOf(2)};
    const std::string artifact = absl::StrCat("artifact of round ", round);
    CommitArtifact(*store_, 1, artifact);
    OnAllThreads([&](int i) {
      if (i == 0) {
        ASSERT_THAT(store_->Quarantine(Sha256Of(artifact)), IsOk());
        EXPECT_EQ(store_->FindReadyInMemory(keys)[0], absl::nullopt);
      }
      for (int read = 0; read < 50; ++read) ASSERT_THAT(store_->Find(keys), IsOk());
    });
    EXPECT_EQ(store_->FindReadyInMemory(keys)[0], absl::nullopt);
  }
}

TEST_F(ConcurrencyTest, ReadersSeeWholeArtifactsOrNoneWhileItIsQuarantinedAndCommitted) {
  const std::string artifact = Noise(5000, 1);
  const Digest digest = Sha256Of(artifact);
  OnAllThreads([&](int i) {
    for (int round = 0; round < 20; ++round) {
      if (i < 2) {
        CommitArtifact(*store_, 100 * i + round, artifact);
      } else if (i == 2) {
        store_->Quarantine(digest).IgnoreError();  // Nothing to quarantine at first.
      } else {
        const auto reader = store_->OpenContent(ContentKind::kArtifact, digest);
        if (!reader.ok()) continue;
        std::string bytes(artifact.size(), '\0');
        EXPECT_EQ(*reader->ReadAt(0, std::span<char>(bytes)), artifact.size());
        EXPECT_EQ(bytes, artifact);
      }
    }
  });
  // Whatever the order was, entries and counters agree.
  uint64_t ready = 0;
  ASSERT_THAT(store_->ForEachEntry([&ready](const Entry&) { return ++ready > 0; }), IsOk());
  EXPECT_EQ(store_->Count()->entries_ready, ready);
  EXPECT_EQ(store_->Count()->artifacts, ready > 0 ? 1u : 0u);
}

TEST(TurnsTest, OneNameIsWorkedOnByOneThread) {
  Turns<Key> turns;
  std::atomic<int> inside = 0;
  std::atomic<bool> overlapped = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        const auto turn = turns.Take(Key());
        if (++inside != 1) overlapped = true;
        --inside;
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(overlapped);
}

TEST(TurnsTest, OtherNamesDoNotWait) {
  Turns<Key> turns;
  const auto one = turns.Take(KeyOf(1));
  const auto two = turns.Take(KeyOf(2));  // Would wait for ever.
  auto moved = turns.Take(KeyOf(3));
  { const auto ended = std::move(moved); }
  const auto again = turns.Take(KeyOf(3));
}

}  // namespace
}  // namespace neffcache
