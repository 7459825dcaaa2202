#include "tests/server/rpc/server_fixture.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

class PublishTest : public ServerTest {
 protected:
  static v1::PublishRequest Start(const KeyMaterial& material, absl::string_view artifact) {
    v1::PublishRequest request;
    v1::PublishStart& start = *request.mutable_start();
    *start.mutable_material() = ToMessage(material);
    *start.mutable_artifact() = ToMessage(Artifact{Sha256Of(artifact), artifact.size()});
    start.set_compile_time_ms(1500);
    start.set_client("node-1:1");
    return request;
  }
  static v1::PublishRequest Data(absl::string_view data) {
    v1::PublishRequest request;
    request.set_data(std::string(data));
    return request;
  }
  grpc::Status Publish(const std::vector<v1::PublishRequest>& requests) {
    auto context = Call();
    auto writer = cache_->Publish(context.get(), &response_);
    for (const v1::PublishRequest& request : requests) {
      if (!writer->Write(request)) break;  // It is answered already.
    }
    writer->WritesDone();
    return writer->Finish();
  }

  v1::PublishResponse response_;
};

TEST_F(PublishTest, APublishedArtifactIsReadyWhole) {
  const KeyMaterial material = MaterialOf("graph");
  const std::string artifact = Noise(2 * kPieceSize + 5);
  std::vector<v1::PublishRequest> requests = {Start(material, artifact)};
  requests[0].mutable_start()->set_bundle("bert");
  for (size_t at = 0; at < artifact.size(); at += kPieceSize) {
    requests.push_back(Data(absl::string_view(artifact).substr(at, kPieceSize)));
  }
  ASSERT_TRUE(Publish(requests).ok());
  EXPECT_TRUE(response_.accepted());
  EXPECT_EQ(response_.entry().key(), KeyOf(material));
  const Entry entry = store_->Find(ComputeKey(material)).value();
  EXPECT_EQ(entry.ready()->digest, Sha256Of(artifact));
  EXPECT_EQ(entry.compile_time, absl::Milliseconds(1500));
  EXPECT_EQ(entry.worker, "node-1:1");
  EXPECT_EQ(store_->GetBundle("bert").value().size(), 1u);
}

TEST_F(PublishTest, TheFirstCompleteWriteStays) {
  const KeyMaterial material = MaterialOf("graph");
  ASSERT_TRUE(Publish({Start(material, "first"), Data("first")}).ok());
  // Answered before the pieces came.
  ASSERT_TRUE(Publish({Start(material, "second")}).ok());
  EXPECT_FALSE(response_.accepted());
  EXPECT_EQ(response_.entry().ready().digest(), Sha256Of("first").bytes());
}

TEST_F(PublishTest, OfTwoAtTheSameTimeOneStays) {
  const KeyMaterial material = MaterialOf("graph");
  auto context = Call();
  auto slow = cache_->Publish(context.get(), &response_);
  ASSERT_TRUE(slow->Write(Start(material, "slow")));
  ASSERT_TRUE(slow->Write(Data("sl")));
  v1::PublishResponse slow_response;
  {
    v1::PublishResponse fast_response;
    auto fast_context = Call();
    auto fast = cache_->Publish(fast_context.get(), &fast_response);
    fast->Write(Start(material, "fast"));
    fast->Write(Data("fast"));
    fast->WritesDone();
    ASSERT_TRUE(fast->Finish().ok());
    EXPECT_TRUE(fast_response.accepted());
  }
  slow->Write(Data("ow"));
  slow->WritesDone();
  ASSERT_TRUE(slow->Finish().ok());
  EXPECT_FALSE(response_.accepted());
  EXPECT_EQ(response_.entry().ready().digest(), Sha256Of("fast").bytes());
}

TEST_F(PublishTest, WhatIsNotAsAnnouncedIsRefusedAndLeavesNothing) {
  const KeyMaterial material = MaterialOf("graph");
  const auto refused = [&](const std::vector<v1::PublishRequest>& requests, const char* why) {
    EXPECT_THAT(Publish(requests), FailsWith(grpc::INVALID_ARGUMENT, why));
    EXPECT_TRUE(absl::IsNotFound(store_->Find(ComputeKey(material)).status()));
  };
  const v1::PublishRequest start = Start(material, "artifact");
  refused({start, Data("Artifact")}, "start.artifact.digest");
  refused({start, Data("artifac")}, "data: 7 bytes came, 8 were announced");
  refused({start, Data("artifact"), Data("s")}, "data: more than the announced 8 bytes");
  refused({start, Data("")}, "data: empty");
  refused({Data("artifact")}, "data: sent before start");
  refused({start, start}, "start: sent twice");
  refused({}, "start: the stream ended without it");
  refused({Start(material, "")}, "start.artifact.size: 0");
  const std::string large = Noise(kPieceSize + 1);
  refused({Start(material, large), Data(large)}, "data: 1048577 bytes, the limit is 1048576");
  for (const auto& left : std::filesystem::directory_iterator(directory_ + "/tmp")) {
    ADD_FAILURE() << left.path();
  }
}

TEST_F(PublishTest, AFingerprintOfUnknownRulesIsRefused) {
  KeyMaterial material = MaterialOf("graph");
  for (const char* known : {"neffcache-hlo-1", "neffcache-hlo-1-exact", "neffcache-raw-1"}) {
    material.fingerprint.tag = known;
    EXPECT_TRUE(Publish({Start(material, "artifact"), Data("artifact")}).ok()) << known;
  }
  for (const char* unknown : {"neffcache-hlo-2", "neffcache-raw-1-exact", "sha256"}) {
    material.fingerprint.tag = unknown;
    EXPECT_THAT(Publish({Start(material, "artifact"), Data("artifact")}),
                FailsWith(grpc::INVALID_ARGUMENT, "start.material.fingerprint.tag: "));
    EXPECT_TRUE(absl::IsNotFound(store_->Find(ComputeKey(material)).status()));
  }
}

TEST_F(PublishTest, AnArtifactAboveTheLimitIsRefusedBeforeItComes) {
  ServiceLimits limits;
  limits.artifact_bytes = 7;
  StartServer(limits);
  EXPECT_THAT(Publish({Start(MaterialOf("graph"), "artifact")}),
              FailsWith(grpc::INVALID_ARGUMENT, "start.artifact.size: 8, the limit is 7"));
}

TEST_F(PublishTest, AClientThatDisconnectsPublishesNothing) {
  const KeyMaterial material = MaterialOf("graph");
  auto context = Call();
  auto writer = cache_->Publish(context.get(), &response_);
  writer->Write(Start(material, "artifact"));
  writer->Write(Data("art"));
  context->TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::CANCELLED);
  server_->Shutdown(absl::InfiniteFuture());  // The daemon's side of the call has ended, too.
  EXPECT_TRUE(absl::IsNotFound(store_->Find(ComputeKey(material)).status()));
  for (const auto& left : std::filesystem::directory_iterator(directory_ + "/tmp")) {
    ADD_FAILURE() << left.path();
  }
}

}  // namespace
}  // namespace neffcache
