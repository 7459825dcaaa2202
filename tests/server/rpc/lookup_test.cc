#include "tests/server/rpc/server_fixture.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

using ::testing::SizeIs;

class LookupTest : public ServerTest {
 protected:
  grpc::Status Lookup(const v1::LookupRequest& request) {
    return cache_->Lookup(Call().get(), request, &response_);
  }

  v1::LookupResponse response_;
};

TEST_F(LookupTest, AnswersEveryKeyInOrderWithItsState) {
  const KeyMaterial ready = MaterialOf("ready");
  const KeyMaterial failed = MaterialOf("failed");
  const KeyMaterial compiling = MaterialOf("compiling");
  const Entry entry = Commit(ready, "artifact");
  Fail(failed, "boom");
  dispatcher_.Set([&](auto& state) { state.compiles[ComputeKey(compiling)] = {}; });
  v1::LookupRequest request;
  for (const KeyMaterial& material : {failed, compiling, MaterialOf("unknown"), ready}) {
    request.add_keys(KeyOf(material));
  }
  ASSERT_TRUE(Lookup(request).ok());
  ASSERT_THAT(response_.results(), SizeIs(4));
  EXPECT_EQ(response_.results(0).state(), v1::LookupResult::STATE_FAILED);
  EXPECT_EQ(response_.results(0).entry().failed().exit_code(), 70);
  EXPECT_EQ(response_.results(0).entry().failed().log_tail(), "boom");
  EXPECT_EQ(response_.results(1).state(), v1::LookupResult::STATE_COMPILING);
  EXPECT_EQ(response_.results(2).state(), v1::LookupResult::STATE_ABSENT);
  EXPECT_EQ(response_.results(3).state(), v1::LookupResult::STATE_READY);
  EXPECT_EQ(response_.results(3).entry().ready().digest(), entry.ready()->digest.bytes());
  EXPECT_EQ(response_.results(3).entry().ready().size(), 8u);
}

TEST_F(LookupTest, SmallArtifactsComeInsideUpToTheLimitOfTheRequest) {
  const KeyMaterial small = MaterialOf("small");
  const KeyMaterial large = MaterialOf("large");
  Commit(small, std::string(100, 's'));
  Commit(large, std::string(101, 'l'));
  v1::LookupRequest request;
  request.add_keys(KeyOf(small));
  request.add_keys(KeyOf(large));
  request.set_inline_limit(100);
  ASSERT_TRUE(Lookup(request).ok());
  EXPECT_EQ(response_.results(0).inline_artifact(), std::string(100, 's'));
  EXPECT_EQ(response_.results(1).inline_artifact(), "");
  EXPECT_EQ(response_.results(1).state(), v1::LookupResult::STATE_READY);
}

TEST_F(LookupTest, ArtifactsKeptAsFilesComeInsideToo) {
  const KeyMaterial material = MaterialOf("file");
  const std::string artifact = Noise(200 << 10);
  Commit(material, artifact);
  v1::LookupRequest request;
  request.add_keys(KeyOf(material));
  request.set_inline_limit(kMaxInlineArtifact);
  ASSERT_TRUE(Lookup(request).ok());
  EXPECT_EQ(response_.results(0).inline_artifact(), artifact);
}

TEST_F(LookupTest, TheAnswerNeverOutgrowsAMessage) {
  v1::LookupRequest request;
  // 7 MiB of artifacts and 6 MiB of logs; the client would refuse more than 4 MiB.
  for (int i = 0; i < 10; ++i) {
    const KeyMaterial material = MaterialOf(absl::StrCat("graph ", i));
    Commit(material, Noise(700 << 10, i));
    request.add_keys(KeyOf(material));
  }
  for (int i = 0; i < 100; ++i) {
    const KeyMaterial material = MaterialOf(absl::StrCat("failed graph ", i));
    Fail(material, std::string(60 << 10, 'x'));
    request.add_keys(KeyOf(material));
  }
  request.set_inline_limit(kMaxInlineArtifact);
  ASSERT_TRUE(Lookup(request).ok());
  EXPECT_LE(response_.ByteSizeLong(), size_t{3} << 20);
  EXPECT_NE(response_.results(10).entry().failed().log_tail(), "");
  EXPECT_EQ(response_.results(109).entry().failed().log_tail(), "");
  EXPECT_EQ(response_.results(109).entry().failed().exit_code(), 70);
}

TEST_F(LookupTest, ManyKeysAtOnceAreAnsweredAsOneByOneWhateverHappensToThem) {
  const KeyMaterial ready = MaterialOf("ready");
  const KeyMaterial failed = MaterialOf("failed");
  v1::LookupRequest request;
  for (const KeyMaterial& material : {ready, failed}) request.add_keys(KeyOf(material));
  for (int i = 0; i < 1000; ++i) request.add_keys(KeyOf(MaterialOf(absl::StrCat(i))));
  using State = v1::LookupResult;
  const auto expect = [&](State::State of_ready, State::State of_failed) {
    for (int again = 0; again < 2; ++again) {  // The second time from memory.
      ASSERT_TRUE(Lookup(request).ok());
      EXPECT_EQ(response_.results(0).state(), of_ready);
      EXPECT_EQ(response_.results(1).state(), of_failed);
      EXPECT_EQ(response_.results(2).state(), State::STATE_ABSENT);
    }
  };
  expect(State::STATE_ABSENT, State::STATE_ABSENT);

  const Entry entry = Commit(ready, "artifact", absl::Seconds(90));
  Fail(failed, "boom");
  expect(State::STATE_READY, State::STATE_FAILED);
  EXPECT_EQ(response_.results(0).entry().key(), KeyOf(ready));
  EXPECT_EQ(response_.results(0).entry().ready().digest(), entry.ready()->digest.bytes());
  EXPECT_EQ(response_.results(0).entry().ready().size(), 8u);
  EXPECT_EQ(response_.results(0).entry().compile_time_ms(), 90'000);
  EXPECT_GT(response_.results(0).entry().created_at_ms(), 0);
  EXPECT_EQ(response_.results(1).entry().failed().exit_code(), 70);

  ASSERT_TRUE(store_->Quarantine(entry.ready()->digest).ok());
  ASSERT_TRUE(store_->ForgetFailure(ComputeKey(failed)).ok());
  expect(State::STATE_ABSENT, State::STATE_ABSENT);
  Commit(ready, "compiled again");
  Commit(failed, "compiled after all");
  expect(State::STATE_READY, State::STATE_READY);
  EXPECT_EQ(response_.results(0).entry().ready().size(), 14u);
}

TEST_F(LookupTest, TenThousandKeysAreAnsweredAndOneMoreIsRefused) {
  v1::LookupRequest request;
  for (size_t i = 0; i < kMaxLookupKeys; ++i) {
    request.add_keys(KeyOf(MaterialOf(absl::StrCat(i))));
  }
  ASSERT_TRUE(Lookup(request).ok());
  EXPECT_THAT(response_.results(), SizeIs(kMaxLookupKeys));
  request.add_keys(std::string(32, 'k'));
  EXPECT_THAT(Lookup(request), FailsWith(grpc::INVALID_ARGUMENT, "keys: 10001 keys"));
}

TEST_F(LookupTest, BrokenLimitsNameTheField) {
  v1::LookupRequest request;
  request.add_keys(std::string(32, 'k'));
  request.add_keys("short");
  EXPECT_THAT(Lookup(request), FailsWith(grpc::INVALID_ARGUMENT, "keys[1]: 5 bytes, not 32"));
  request.clear_keys();
  request.set_inline_limit(kMaxInlineArtifact + 1);
  EXPECT_THAT(Lookup(request), FailsWith(grpc::INVALID_ARGUMENT, "inline_limit"));
  request.set_inline_limit(0);
  request.set_bundle(std::string(257, 'b'));
  EXPECT_THAT(Lookup(request), FailsWith(grpc::INVALID_ARGUMENT, "bundle: 257 bytes"));
}

TEST_F(LookupTest, KeysAreRecordedInTheBundle) {
  const KeyMaterial material = MaterialOf("graph");
  v1::LookupRequest request;
  request.add_keys(KeyOf(material));
  request.set_bundle("bert-large");
  ASSERT_TRUE(Lookup(request).ok());
  const auto keys = store_->GetBundle("bert-large");
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_THAT(*keys, SizeIs(1));
  EXPECT_EQ(keys->front().key, ComputeKey(material));
}

TEST_F(LookupTest, ArtifactsThatComeWithTheAnswerAreHitsAndStatesAloneAreNone) {
  const KeyMaterial material = MaterialOf("graph");
  Commit(material, "artifact", absl::Seconds(90));
  v1::LookupRequest request;
  request.add_keys(KeyOf(material));
  request.add_keys(std::string(32, 'k'));
  ASSERT_TRUE(Lookup(request).ok());
  EXPECT_EQ(Stats().lookups(), 0u);
  EXPECT_EQ(Stats().hits(), 0u);
  EXPECT_EQ(Stats().compile_time_saved_ms(), 0);
  EXPECT_EQ(store_->UseOf(ComputeKey(material))->hits, 1u);

  request.set_inline_limit(100);
  ASSERT_TRUE(Lookup(request).ok());
  const v1::Stats stats = Stats();
  EXPECT_EQ(stats.lookups(), 1u);
  EXPECT_EQ(stats.hits(), 1u);
  EXPECT_EQ(stats.compile_time_saved_ms(), 90'000);
  EXPECT_EQ(stats.bytes_served(), 8u);
}

TEST_F(LookupTest, WhoOnlyWantsToKnowGetsNoBytesAndCountsAsNoUse) {
  const KeyMaterial material = MaterialOf("graph");
  Commit(material, "artifact", absl::Seconds(90));
  v1::LookupRequest request;
  request.add_keys(KeyOf(material));
  request.set_inline_limit(kMaxInlineArtifact);
  request.set_state_only(true);
  ASSERT_TRUE(Lookup(request).ok());
  EXPECT_EQ(response_.results(0).state(), v1::LookupResult::STATE_READY);
  EXPECT_EQ(response_.results(0).entry().ready().size(), 8u);
  EXPECT_EQ(response_.results(0).inline_artifact(), "");
  const v1::Stats stats = Stats();
  EXPECT_EQ(stats.lookups(), 0u);
  EXPECT_EQ(stats.hits(), 0u);
  EXPECT_EQ(stats.bytes_served(), 0u);
}

}  // namespace
}  // namespace neffcache
