// Lookup, Publish, GetBundle, ListToolchains, and the addresses and deadlines of all calls.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "client/daemon.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/zstd.h"
#include "tests/client/client_fixture.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

class CallsTest : public ClientTest {};

std::string KeyHex(int i) {
  return Sha256Of(std::to_string(i)).Hex();
}

TEST_F(CallsTest, LookupGivesEachKeyItsState) {
  daemon_.lookup = [](const v1::LookupRequest& request, v1::LookupResponse* response) {
    EXPECT_EQ(request.bundle(), "nightly");
    v1::LookupResult* ready = response->add_results();
    ready->set_state(v1::LookupResult::STATE_READY);
    *ready->mutable_entry() = ReadyEntry(request.keys(0), "artifact");
    ready->set_inline_artifact("artifact");
    response->add_results()->set_state(v1::LookupResult::STATE_ABSENT);
    response->add_results()->set_state(v1::LookupResult::STATE_COMPILING);
    v1::LookupResult* failed = response->add_results();
    failed->set_state(v1::LookupResult::STATE_FAILED);
    failed->mutable_entry()->set_key(request.keys(3));
    failed->mutable_entry()->mutable_failed()->set_message("no");
    return grpc::Status::OK;
  };
  const absl::StatusOr<std::vector<KeyState>> states =
      client_->Lookup({KeyHex(0), KeyHex(1), KeyHex(2), KeyHex(3)}, "nightly");
  ASSERT_TRUE(states.ok()) << states.status();
  ASSERT_EQ(states->size(), 4u);
  EXPECT_EQ((*states)[0].state, KeyState::State::kReady);
  EXPECT_EQ((*states)[0].artifact.size, 8u);
  EXPECT_EQ((*states)[0].inline_artifact, std::string("artifact"));
  EXPECT_EQ((*states)[1].state, KeyState::State::kAbsent);
  EXPECT_EQ((*states)[2].state, KeyState::State::kCompiling);
  EXPECT_EQ((*states)[3].state, KeyState::State::kFailed);
  EXPECT_EQ((*states)[3].failure.message, "no");
}

TEST_F(CallsTest, LookupSplitsAtTheProtocolsLimitAndKeepsTheOrder) {
  std::vector<int> sizes;
  int asked = 0;
  daemon_.lookup = [&](const v1::LookupRequest& request, v1::LookupResponse* response) {
    sizes.push_back(request.keys_size());
    for (int i = 0; i < request.keys_size(); ++i) {
      // Every third key is being compiled.
      response->add_results()->set_state(asked++ % 3 == 0 ? v1::LookupResult::STATE_COMPILING
                                                          : v1::LookupResult::STATE_ABSENT);
    }
    return grpc::Status::OK;
  };
  const std::vector<std::string> keys(25'000, KeyHex(7));
  const absl::StatusOr<std::vector<KeyState>> states = client_->Lookup(keys);
  ASSERT_TRUE(states.ok()) << states.status();
  EXPECT_THAT(sizes, ::testing::ElementsAre(10'000, 10'000, 5'000));
  ASSERT_EQ(states->size(), keys.size());
  for (size_t i = 0; i < states->size(); ++i) {
    ASSERT_EQ((*states)[i].state == KeyState::State::kCompiling, i % 3 == 0) << i;
  }
}

TEST_F(CallsTest, AnAnswerTooLargeForAMessageIsAskedForInHalves) {
  daemon_.lookup = [&](const v1::LookupRequest& request, v1::LookupResponse* response) {
    for (const std::string& key : request.keys()) {
      v1::LookupResult* failed = response->add_results();
      failed->set_state(v1::LookupResult::STATE_FAILED);
      failed->mutable_entry()->set_key(key);
      failed->mutable_entry()->mutable_failed()->set_log_tail(std::string(60'000, 'x'));
    }
    return grpc::Status::OK;
  };
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) keys.push_back(KeyHex(i));
  const absl::StatusOr<std::vector<KeyState>> states = client_->Lookup(keys);
  ASSERT_TRUE(states.ok()) << states.status();
  EXPECT_EQ(states->size(), 200u);
}

TEST_F(CallsTest, LookupRefusesWhatIsNoKeyAndWrongAnswers) {
  EXPECT_EQ(client_->Lookup({"abc"}).status().code(), absl::StatusCode::kInvalidArgument);
  daemon_.lookup = [](const v1::LookupRequest&, v1::LookupResponse*) { return grpc::Status::OK; };
  EXPECT_EQ(client_->Lookup({KeyHex(1)}).status().code(), absl::StatusCode::kInternal);
  daemon_.lookup = [](const v1::LookupRequest&, v1::LookupResponse* response) {
    v1::LookupResult* ready = response->add_results();
    ready->set_state(v1::LookupResult::STATE_READY);
    *ready->mutable_entry() = ReadyEntry(std::string(32, 'o'), "of another key");
    return grpc::Status::OK;
  };
  EXPECT_EQ(client_->Lookup({KeyHex(1)}).status().code(), absl::StatusCode::kInternal);
}

TEST_F(CallsTest, NothingIsAskedForNoKeys) {
  const absl::StatusOr<std::vector<KeyState>> states = client_->Lookup({});
  ASSERT_TRUE(states.ok()) << states.status();
  EXPECT_TRUE(states->empty());
}

TEST_F(CallsTest, PublishSendsTheWholeFile) {
  const std::string artifact = PatternBytes(3'500'000);
  const std::string path = scratch_.Write("made.neff", artifact);
  std::string received;
  v1::PublishStart start;
  daemon_.publish = [&](grpc::ServerReader<v1::PublishRequest>* reader,
                        v1::PublishResponse* response) {
    v1::PublishRequest request;
    reader->Read(&request);
    start = request.start();
    while (reader->Read(&request)) received += request.data();
    response->set_accepted(true);
    return grpc::Status::OK;
  };
  const absl::StatusOr<bool> accepted = client_->Publish(spec_, path, absl::Seconds(3));
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_TRUE(*accepted);
  EXPECT_EQ(received, artifact);
  EXPECT_EQ(start.artifact().digest(), std::string(Sha256Of(artifact).bytes()));
  EXPECT_EQ(start.artifact().size(), artifact.size());
  EXPECT_EQ(start.compile_time_ms(), 3000);
  EXPECT_EQ(start.material().toolchain().name(), "test-compiler");
}

TEST_F(CallsTest, PublishTakesAnAnswerBeforeTheEnd) {
  const std::string path = scratch_.Write("made.neff", PatternBytes(20'000'000));
  daemon_.publish = [](grpc::ServerReader<v1::PublishRequest>* reader,
                       v1::PublishResponse* response) {
    v1::PublishRequest request;
    reader->Read(&request);
    response->set_accepted(false);
    return grpc::Status::OK;
  };
  const absl::StatusOr<bool> accepted = client_->Publish(spec_, path, absl::ZeroDuration());
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_FALSE(*accepted);
}

TEST_F(CallsTest, PublishRefusesAnEmptyOrAbsentFile) {
  EXPECT_EQ(
      client_->Publish(spec_, scratch_.Write("empty", ""), absl::ZeroDuration()).status().code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(client_->Publish(spec_, scratch_.Path("absent"), absl::ZeroDuration()).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(CallsTest, ABundleHasItsKeysWithAndWithoutEntries) {
  daemon_.get_bundle = [](const v1::GetBundleRequest& request,
                          grpc::ServerWriter<v1::BundleKey>* writer) {
    if (request.name() != "nightly") {
      return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such bundle");
    }
    v1::BundleKey key;
    key.set_key(std::string(32, 'a'));
    writer->Write(key);
    key.set_key(std::string(32, 'b'));
    *key.mutable_entry() = ReadyEntry(key.key(), "artifact");
    writer->Write(key);
    return grpc::Status::OK;
  };
  const absl::StatusOr<std::vector<BundleEntry>> entries = client_->GetBundle("nightly");
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].state.state, KeyState::State::kAbsent);
  EXPECT_EQ((*entries)[1].state.state, KeyState::State::kReady);
  const absl::Status absent = client_->GetBundle("weekly").status();
  EXPECT_EQ(absent.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(absent.message()), HasSubstr("weekly"));
}

TEST_F(CallsTest, ToolchainsComeAsNameAndVersion) {
  daemon_.list_toolchains = [](v1::ListToolchainsResponse* response) {
    v1::Toolchain* toolchain = response->add_toolchains();
    toolchain->set_name("xla-cpu");
    toolchain->set_version("0.4");
    return grpc::Status::OK;
  };
  const auto toolchains = client_->ListToolchains();
  ASSERT_TRUE(toolchains.ok()) << toolchains.status();
  EXPECT_THAT(*toolchains, ::testing::ElementsAre(::testing::Pair("xla-cpu", "0.4")));
}

TEST_F(CallsTest, AShortCallEndsAtItsDeadline) {
  absl::Notification release;
  daemon_.lookup = [&](const v1::LookupRequest&, v1::LookupResponse*) {
    release.WaitForNotification();
    return grpc::Status::OK;
  };
  options_.call_timeout = absl::Milliseconds(50);
  Connect();
  const absl::Status status = client_->Lookup({KeyHex(1)}).status();
  release.Notify();
  daemon_.Stop();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(FromDaemon(status));
}

TEST_F(CallsTest, AHostThatDoesNotAnswerIsUnavailableAfterTheConnectTimeout) {
  // Listens but never accepts, with no room for a handshake: connections stay half-made.
  const Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  options_.daemon = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  options_.connect_timeout = absl::Milliseconds(100);
  Connect();
  const absl::Status status = client_->Lookup({KeyHex(1)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no connection within 100ms"));
}

TEST(ClientAddressTest, MalformedAddressesAreRefusedBeforeAnyCall) {
  for (const char* address : {"", "host", "host:", ":7433", "host:0", "host:70000", "a b:1"}) {
    ClientOptions options;
    options.daemon = address;
    EXPECT_EQ(Client::Create(options).status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
  for (const char* address : {"localhost:7433", "[::1]:7433", "unix:/run/neffcached.sock"}) {
    ClientOptions options;
    options.daemon = address;
    EXPECT_TRUE(Client::Create(options).ok()) << address;
  }
}

TEST_F(CallsTest, TheKeptLogOfAKeyIsReadWhole) {
  const std::string log = PatternBytes(300'000);
  const std::string compressed = ZstdCompress(log);
  bool state_only = false;
  daemon_.lookup = [&](const v1::LookupRequest& request, v1::LookupResponse* response) {
    state_only = request.state_only();
    v1::LookupResult& result = *response->add_results();
    result.set_state(v1::LookupResult::STATE_FAILED);
    result.mutable_entry()->set_key(request.keys(0));
    result.mutable_entry()->mutable_failed()->set_log_tail("the end");
    result.mutable_entry()->set_log_digest(std::string(Sha256Of(log).bytes()));
    return grpc::Status::OK;
  };
  daemon_.fetch = [&](grpc::ServerContext*, const v1::FetchRequest& request,
                      grpc::ServerWriter<v1::FetchResponse>* writer) {
    EXPECT_EQ(request.kind(), v1::FetchRequest::KIND_LOG);
    v1::FetchResponse response;
    response.set_data(compressed);
    writer->Write(response);
    return grpc::Status::OK;
  };
  const absl::StatusOr<std::string> read = client_->ReadLog(Identified().key.Hex());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, log);
  EXPECT_TRUE(state_only) << "reading a log is no use of an artifact";
}

}  // namespace
}  // namespace neffcache
