#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tests/server/rpc/server_fixture.h"

namespace neffcache {
namespace {

using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class AdminTest : public ServerTest {
 protected:
  grpc::Status Resolve(const std::string& prefix, std::string& key) {
    v1::ResolveKeyRequest request;
    request.set_prefix(prefix);
    v1::ResolveKeyResponse response;
    const grpc::Status status = admin_->ResolveKey(Call().get(), request, &response);
    key = response.key();
    return status;
  }
  void InFlight(const KeyMaterial& material, CompileView view = {}) {
    view.key = ComputeKey(material);
    view.material = material;
    dispatcher_.Set([&](auto& state) { state.compiles[view.key] = view; });
  }
};

TEST_F(AdminTest, AKeyIsFoundByItsPrefixInTheStoreAndInFlight) {
  const KeyMaterial stored = MaterialOf("stored");
  const KeyMaterial in_flight = MaterialOf("in flight");
  Commit(stored, "artifact");
  InFlight(in_flight);
  std::string key;
  ASSERT_TRUE(Resolve(ComputeKey(stored).Hex().substr(0, 8), key).ok());
  EXPECT_EQ(key, KeyOf(stored));
  ASSERT_TRUE(Resolve(absl::AsciiStrToUpper(ComputeKey(in_flight).Hex().substr(0, 9)), key).ok());
  EXPECT_EQ(key, KeyOf(in_flight));
  EXPECT_THAT(Resolve("00000000", key), FailsWith(grpc::NOT_FOUND, "no key begins with 00000000"));
  for (const char* bad : {"", "1234567", "0123456g"}) {
    EXPECT_THAT(Resolve(bad, key), FailsWith(grpc::INVALID_ARGUMENT, "prefix"));
  }
}

TEST_F(AdminTest, EntriesAreListedInOrderInBatches) {
  std::set<std::string> keys;
  for (int i = 0; i < 200; ++i) {
    const KeyMaterial material = MaterialOf(absl::StrCat(i));
    if (i % 10 == 0) {
      Fail(material, "log");
    } else {
      Commit(material, absl::StrCat("artifact ", i));
    }
    keys.insert(KeyOf(material));
  }
  const auto list = [&](bool failed_only) {
    std::vector<v1::Entry> entries;
    v1::ListEntriesRequest request;
    request.set_failed_only(failed_only);
    auto context = Call();
    auto reader = admin_->ListEntries(context.get(), request);
    v1::Entry entry;
    while (reader->Read(&entry)) entries.push_back(entry);
    EXPECT_TRUE(reader->Finish().ok());
    return entries;
  };
  std::vector<std::string> listed;
  for (const v1::Entry& entry : list(false)) listed.push_back(entry.key());
  EXPECT_EQ(listed, std::vector<std::string>(keys.begin(), keys.end()));
  const std::vector<v1::Entry> failed = list(true);
  EXPECT_THAT(failed, SizeIs(20));
  for (const v1::Entry& entry : failed) EXPECT_TRUE(entry.has_failed());
}

TEST_F(AdminTest, AListThatNobodyReadsToItsEndDisturbsNobody) {
  for (int i = 0; i < 100; ++i) Commit(MaterialOf(absl::StrCat(i)), "artifact");
  auto context = Call();
  auto reader = admin_->ListEntries(context.get(), v1::ListEntriesRequest());
  v1::Entry entry;
  ASSERT_TRUE(reader->Read(&entry));
  context->TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::CANCELLED);
  EXPECT_EQ(Stats().entries_ready(), 100u);
}

TEST_F(AdminTest, AKeyIsShownWithEntryCompileAndBundles) {
  const KeyMaterial material = MaterialOf("graph");
  const Key key = ComputeKey(material);
  Commit(material, "artifact");
  CompileView view;
  view.state = CompileView::State::kRunning;
  view.worker = "w0";
  InFlight(material, view);
  ASSERT_TRUE(store_->RecordInBundle("bert", {&key, 1}).ok());
  v1::ShowKeyRequest request;
  request.set_key(KeyOf(material));
  v1::ShowKeyResponse response;
  ASSERT_TRUE(admin_->ShowKey(Call().get(), request, &response).ok());
  EXPECT_EQ(response.entry().ready().size(), 8u);
  EXPECT_EQ(response.entry().material().toolchain().name(), "neuronx-cc");
  EXPECT_EQ(response.compile().state(), v1::Compile::STATE_RUNNING);
  EXPECT_EQ(response.compile().worker(), "w0");
  EXPECT_THAT(response.bundles(), UnorderedElementsAre("bert"));

  request.set_key(std::string(32, 'k'));
  EXPECT_THAT(admin_->ShowKey(Call().get(), request, &response),
              FailsWith(grpc::NOT_FOUND, "nothing is known"));
  request.set_key("short");
  EXPECT_THAT(admin_->ShowKey(Call().get(), request, &response),
              FailsWith(grpc::INVALID_ARGUMENT, "key: 5 bytes"));
}

// A compile that is like an entry, with its parts.
class ExplainTest : public AdminTest {
 protected:
  static v1::ExplainRequest RequestFor(const KeyMaterial& material) {
    v1::ExplainRequest request;
    *request.mutable_material() = ToMessage(material);
    const std::string digest(32, 'd');
    request.mutable_parts()->set_signature(digest);
    request.mutable_parts()->set_attributes(digest);
    request.mutable_parts()->set_skeleton(digest);
    return request;
  }
  grpc::Status Explain(const v1::ExplainRequest& request) {
    response_.Clear();
    return admin_->Explain(Call().get(), request, &response_);
  }

  v1::ExplainResponse response_;
};

TEST_F(ExplainTest, TheNearestEntriesAreGivenWithTheirParts) {
  const KeyMaterial wanted = MaterialOf("wanted");
  ASSERT_TRUE(Explain(RequestFor(wanted)).ok());
  EXPECT_EQ(response_.key(), KeyOf(wanted));
  EXPECT_THAT(response_.near(), SizeIs(0));
  const Entry near = Commit(MaterialOf("near"), "artifact");
  GraphParts parts;
  parts.skeleton = *Digest::FromBytes(std::string(32, 'd'));
  ASSERT_TRUE(store_->IndexParts(near.key, parts).ok());
  ASSERT_TRUE(Explain(RequestFor(wanted)).ok());
  ASSERT_THAT(response_.near(), SizeIs(1));
  EXPECT_EQ(response_.near(0).entry().key(), std::string(near.key.bytes()));
  EXPECT_EQ(response_.near(0).parts().skeleton(), std::string(32, 'd'));
  EXPECT_FALSE(response_.has_entry());
  // What is cached needs no explanation.
  ASSERT_TRUE(Explain(RequestFor(MaterialOf("near"))).ok());
  EXPECT_TRUE(response_.entry().has_ready());
  EXPECT_THAT(response_.near(), SizeIs(0));
}

TEST_F(ExplainTest, WhatBreaksALimitIsRefused) {
  v1::ExplainRequest request = RequestFor(MaterialOf("wanted"));
  request.mutable_parts()->set_skeleton("short");
  EXPECT_THAT(Explain(request), FailsWith(grpc::INVALID_ARGUMENT, "parts.skeleton"));
  request = RequestFor(MaterialOf("wanted"));
  for (int i = 0; i < 129; ++i) {
    request.mutable_parts()->add_computations()->set_content(std::string(32, 'c'));
  }
  EXPECT_THAT(Explain(request), FailsWith(grpc::INVALID_ARGUMENT, "parts.computations"));
  request = RequestFor(MaterialOf("wanted"));
  request.set_graph_name("line\nfeed");
  EXPECT_THAT(Explain(request), FailsWith(grpc::INVALID_ARGUMENT, "graph_name"));
}

TEST_F(ExplainTest, WhyIsShownOfEntriesAndCompiles) {
  const Entry entry = Commit(MaterialOf("ready"), "artifact");
  Miss miss;
  miss.explanation = "no entry is like it";
  ASSERT_TRUE(store_->RecordMiss(entry.key, miss).ok());
  InFlight(MaterialOf("ready"));
  v1::ShowKeyRequest show;
  show.set_key(KeyOf(MaterialOf("ready")));
  v1::ShowKeyResponse shown;
  ASSERT_TRUE(admin_->ShowKey(Call().get(), show, &shown).ok());
  EXPECT_EQ(shown.miss().explanation(), "no entry is like it");
  v1::ListCompilesResponse list;
  ASSERT_TRUE(admin_->ListCompiles(Call().get(), v1::ListCompilesRequest(), &list).ok());
  ASSERT_THAT(list.compiles(), SizeIs(1));
  EXPECT_EQ(list.compiles(0).miss().explanation(), "no entry is like it");
}

TEST_F(AdminTest, ARememberedFailureIsClearedOnce) {
  const Entry failed = Fail(MaterialOf("graph"), "log");
  v1::RetryRequest request;
  request.set_key(std::string(failed.key.bytes()));
  v1::RetryResponse response;
  ASSERT_TRUE(admin_->Retry(Call().get(), request, &response).ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Find(failed.key).status()));
  EXPECT_EQ(admin_->Retry(Call().get(), request, &response).error_code(), grpc::NOT_FOUND);
}

TEST_F(AdminTest, CompilesAndWorkersAreListedWithinOneMessage) {
  for (int i = 0; i < 50; ++i) {
    KeyMaterial material = MaterialOf(absl::StrCat(i));
    material.options = {std::string(200 << 10, 'o')};  // 10 MB in all.
    InFlight(material);
  }
  v1::ListCompilesResponse compiles;
  ASSERT_TRUE(admin_->ListCompiles(Call().get(), v1::ListCompilesRequest(), &compiles).ok());
  EXPECT_GT(compiles.compiles_size(), 5);
  EXPECT_LT(compiles.compiles_size(), 50);

  dispatcher_.Set([](auto& state) { state.workers[1].offer.name = "node-1:42"; });
  v1::ListWorkersResponse workers;
  ASSERT_TRUE(admin_->ListWorkers(Call().get(), v1::ListWorkersRequest(), &workers).ok());
  ASSERT_THAT(workers.workers(), SizeIs(1));
  EXPECT_EQ(workers.workers(0).name(), "node-1:42");
}

TEST_F(AdminTest, StatsGatherStoreDispatcherAndServer) {
  Commit(MaterialOf("graph"), "artifact");
  Fail(MaterialOf("failed"), "log");
  const v1::Stats stats = Stats();
  EXPECT_EQ(stats.entries_ready(), 1u);
  EXPECT_EQ(stats.entries_failed(), 1u);
  EXPECT_EQ(stats.artifact_bytes(), 8u);
  EXPECT_EQ(stats.compiles_queued(), 3u);
  EXPECT_EQ(stats.compiles_joined(), 5u);
  EXPECT_NE(stats.version(), "");
}

TEST_F(AdminTest, BundlesAreListedAndShownWithTheirEntries) {
  const KeyMaterial ready = MaterialOf("ready");
  const std::vector<Key> keys = {ComputeKey(ready), ComputeKey(MaterialOf("absent"))};
  Commit(ready, "artifact");
  ASSERT_TRUE(store_->RecordInBundle("bert", keys).ok());

  auto context = Call();
  auto summaries = cache_->ListBundles(context.get(), v1::ListBundlesRequest());
  v1::BundleSummary summary;
  ASSERT_TRUE(summaries->Read(&summary));
  EXPECT_EQ(summary.name(), "bert");
  EXPECT_EQ(summary.keys(), 2u);
  EXPECT_EQ(summary.ready(), 1u);
  EXPECT_FALSE(summaries->Read(&summary));
  EXPECT_TRUE(summaries->Finish().ok());

  const auto get = [&](const std::string& name, int& in_bundle, int& with_entry) {
    v1::GetBundleRequest request;
    request.set_name(name);
    auto get_context = Call();
    auto reader = cache_->GetBundle(get_context.get(), request);
    v1::BundleKey key;
    while (reader->Read(&key)) {
      ++in_bundle;
      if (key.has_entry()) ++with_entry;
    }
    return reader->Finish();
  };
  int in_bundle = 0;
  int with_entry = 0;
  ASSERT_TRUE(get("bert", in_bundle, with_entry).ok());
  EXPECT_EQ(in_bundle, 2);
  EXPECT_EQ(with_entry, 1);
  EXPECT_EQ(get("gpt", in_bundle, with_entry).error_code(), grpc::NOT_FOUND);
  EXPECT_THAT(get("", in_bundle, with_entry), FailsWith(grpc::INVALID_ARGUMENT, "name: empty"));
}

TEST_F(AdminTest, ToolchainsOfTheWorkersAreListed) {
  v1::ListToolchainsResponse response;
  ASSERT_TRUE(cache_->ListToolchains(Call().get(), v1::ListToolchainsRequest(), &response).ok());
  ASSERT_THAT(response.toolchains(), SizeIs(1));
  EXPECT_EQ(response.toolchains(0).name(), "xla-cpu");
}

}  // namespace
}  // namespace neffcache
