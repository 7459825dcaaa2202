#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "io/digest.h"
#include "io/zstd.h"
#include "neffcache/v1/admin.grpc.pb.h"
#include "neffcache/v1/cache.grpc.pb.h"
#include "neffcache/v1/worker.grpc.pb.h"
#include "server/rpc/server.h"
#include "server/store/entry_messages.h"
#include "server/store/store.h"
#include "tests/server/rpc/fake_dispatcher.h"
#include "transport/channel.h"

namespace neffcache {

// Code and a part of the message.
MATCHER_P2(FailsWith, code, text, "") {
  *result_listener << arg.error_code() << " " << arg.error_message();
  return arg.error_code() == code &&
         ::testing::Value(arg.error_message(), ::testing::HasSubstr(text));
}

// A real store in a temporary directory and a fake dispatcher behind a real server on loopback.
class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // In memory where possible: opening a store syncs dozens of times.
    const bool memory = access("/dev/shm", W_OK | X_OK) == 0;
    directory_ =
        (memory ? std::string("/dev/shm") : ::testing::TempDir()) + "/neffcache-rpc-XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    StoreOptions options;
    options.data_dir = directory_;
    options.inline_limit = 64 << 10;
    absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(options);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    StartServer();
  }

  void TearDown() override {
    server_.reset();
    store_.reset();
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }

  void StartServer(ServiceLimits limits = {}) { ServeWith(dispatcher_, limits); }

  void ServeWith(CompileDispatcher& dispatcher, ServiceLimits limits = {}) {
    server_.reset();
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.limits = limits;
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options, *store_, dispatcher);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = OpenChannel(server_->address(), Connection::kOwn);
    cache_ = v1::GraphCache::NewStub(channel_);
    worker_ = v1::CompileWorker::NewStub(channel_);
    admin_ = v1::Admin::NewStub(channel_);
  }

  // Every call of a test has a deadline, so that a bug fails it and does not hang it.
  static std::unique_ptr<grpc::ClientContext> Call() {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return context;
  }

  // The material of a graph of these bytes.
  static KeyMaterial MaterialOf(absl::string_view graph) {
    KeyMaterial material;
    material.fingerprint = {"neffcache-raw-1", Sha256Of(graph)};
    material.options = {"--target=trn1"};
    material.toolchain = {"neuronx-cc", "2.27.5334.0+2d4f85be"};
    return material;
  }
  static std::string KeyOf(const KeyMaterial& material) {
    return std::string(ComputeKey(material).bytes());
  }

  StagedContent Stage(ContentKind kind, absl::string_view bytes) {
    ContentWriter writer = *store_->Stage(kind);
    EXPECT_EQ(
        writer.Write(kind == ContentKind::kArtifact ? std::string(bytes) : ZstdCompress(bytes)),
        absl::OkStatus());
    return std::move(*std::move(writer).Finish());
  }

  // Makes the key ready with this artifact.
  Entry Commit(const KeyMaterial& material, absl::string_view artifact,
               absl::Duration compile_time = absl::Seconds(90)) {
    Entry entry;
    entry.material = material;
    entry.key = ComputeKey(material);
    entry.state = Artifact{Sha256Of(artifact), artifact.size()};
    entry.compile_time = compile_time;
    entry.created = absl::Now();
    absl::StatusOr<Store::Committed> committed =
        store_->CommitReady(entry, Stage(ContentKind::kArtifact, artifact), absl::nullopt);
    EXPECT_TRUE(committed.ok()) << committed.status();
    return committed->entry;
  }

  Entry Fail(const KeyMaterial& material, const std::string& log_tail) {
    Entry entry;
    entry.material = material;
    entry.key = ComputeKey(material);
    Failure failure;
    failure.failure_class = FailureClass::kDeterministic;
    failure.message = "NCC_EVRF001: unsupported";
    failure.exit_code = 70;
    failure.log_tail = log_tail;
    failure.failed_at = absl::Now();
    failure.remembered_until = absl::Now() + absl::Hours(1);
    entry.state = failure;
    EXPECT_EQ(store_->CommitFailed(entry, absl::nullopt), absl::OkStatus());
    return entry;
  }

  v1::Stats Stats() {
    v1::Stats stats;
    EXPECT_TRUE(admin_->GetStats(Call().get(), v1::GetStatsRequest(), &stats).ok());
    return stats;
  }

  // Incompressible bytes, the same for the same seed.
  static std::string Noise(size_t size, uint64_t seed = 1) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<char>(seed >> 56);
    }
    return bytes;
  }

  std::string directory_;
  std::unique_ptr<Store> store_;
  FakeDispatcher dispatcher_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::GraphCache::Stub> cache_;
  std::unique_ptr<v1::CompileWorker::Stub> worker_;
  std::unique_ptr<v1::Admin::Stub> admin_;
};

}  // namespace neffcache
