#include "server/rpc/server.h"

#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <fstream>

#include "server/rpc/listen_address.h"
#include "tests/server/rpc/server_fixture.h"

namespace neffcache {
namespace {

// Health and reflection have no generated stubs here: their messages are bytes on the wire.
grpc::ByteBuffer Bytes(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}
std::string Text(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

// One request, one answer.
grpc::Status CallOnce(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                      const grpc::ByteBuffer& request, std::string& response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const auto wait = [&] {
    void* tag;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return ok;
  };
  auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  wait();
  call->Write(request, nullptr);
  wait();
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  if (wait()) response = Text(answer);
  call->WritesDone(nullptr);
  wait();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  return status;
}

class ServerAssemblyTest : public ServerTest {
 protected:
  // SERVING is 1, NOT_SERVING 2 in field 1.
  std::string Health(const std::string& service) {
    std::string request;
    if (!service.empty()) request = std::string("\x0a", 1) + char(service.size()) + service;
    std::string response;
    const grpc::Status status =
        CallOnce(channel_, "/grpc.health.v1.Health/Check", Bytes(request), response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
};

TEST_F(ServerAssemblyTest, HealthFollowsTheServer) {
  EXPECT_EQ(Health(""), "\x08\x01");
  EXPECT_EQ(Health("neffcache.v1.GraphCache"), "\x08\x01");
  server_->SetNotServing();
  EXPECT_EQ(Health(""), "\x08\x02");
  EXPECT_EQ(Health("neffcache.v1.GraphCache"), "\x08\x02");
  // Calls are served all the same.
  Stats();
}

TEST_F(ServerAssemblyTest, ReflectionListsTheServices) {
  // ServerReflectionRequest.list_services = 7.
  std::string response;
  CallOnce(channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
           Bytes(std::string("\x3a\x01*", 3)), response);
  for (const char* service : {"neffcache.v1.GraphCache", "neffcache.v1.CompileWorker",
                              "neffcache.v1.Admin", "grpc.health.v1.Health"}) {
    EXPECT_THAT(response, ::testing::HasSubstr(service));
  }
}

// Of this process, in bytes, since ForgetPeakMemory().
uint64_t PeakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) << 10;
  }
  return 0;
}
void ForgetPeakMemory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

// A request of so many MiB, all of it one piece of memory.
grpc::ByteBuffer LargeRequest(uint32_t mebibytes) {
  static const std::string piece(1 << 20, 'x');
  std::string head = "\x12";  // LookupRequest.bundle.
  for (uint64_t size = uint64_t{mebibytes} << 20; size > 0; size >>= 7) {
    head.push_back(static_cast<char>((size & 0x7f) | (size >= 0x80 ? 0x80 : 0)));
  }
  std::vector<grpc::Slice> slices = {grpc::Slice(head)};
  for (uint32_t i = 0; i < mebibytes; ++i) {
    slices.emplace_back(piece.data(), piece.size(), grpc::Slice::STATIC_SLICE);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

TEST_F(ServerAssemblyTest, AMessageAboveTheLimitIsRefused) {
  std::string response;
  EXPECT_THAT(CallOnce(channel_, "/neffcache.v1.GraphCache/Lookup", LargeRequest(64), response),
              FailsWith(grpc::RESOURCE_EXHAUSTED, "larger than max"));
}

TEST_F(ServerAssemblyTest, AMessageThatNeverEndsIsNotKeptBeyondTheQuota) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.receive_bytes = size_t{32} << 20;
  FakeDispatcher dispatcher;
  const auto bounded = Server::Start(options, *store_, dispatcher);
  ASSERT_TRUE(bounded.ok());
  const auto channel = OpenChannel((*bounded)->address(), Connection::kOwn);
  ForgetPeakMemory();
  [[maybe_unused]] const uint64_t before = PeakMemory();
  std::string response;
  const grpc::Status status =
      CallOnce(channel, "/neffcache.v1.GraphCache/Lookup", LargeRequest(512), response);
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED) << status.error_message();
#ifndef __SANITIZE_ADDRESS__  // Which keeps what was freed.
  EXPECT_LT(PeakMemory() - before, uint64_t{128} << 20);
#endif
}

TEST_F(ServerAssemblyTest, AnAddressInUseIsAClearError) {
  ServerOptions options;
  options.listen = server_->address();
  FakeDispatcher dispatcher;
  const auto second = Server::Start(options, *store_, dispatcher);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()),
              ::testing::AllOf(::testing::HasSubstr("listening on " + server_->address()),
                               ::testing::HasSubstr("in use")));
}

TEST_F(ServerAssemblyTest, ShutdownCutsOffCallsAtTheDeadline) {
  auto context = Call();
  auto stream = worker_->Work(context.get());
  v1::WorkerMessage hello;
  hello.mutable_hello()->set_name("w");
  hello.mutable_hello()->set_slots(1);
  *hello.mutable_hello()->add_toolchains() = ToMessage(Toolchain{"a", "1"});
  ASSERT_TRUE(stream->Write(hello));
  v1::DaemonMessage message;
  ASSERT_TRUE(stream->Read(&message));
  server_->Shutdown(absl::Now() + absl::Milliseconds(50));
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_FALSE(stream->Finish().ok());
}

TEST(ListenAddressTest, HostAndPortAreTakenApart) {
  EXPECT_EQ(ListenAddress::Parse("127.0.0.1:7433")->ToString(), "127.0.0.1:7433");
  EXPECT_EQ(ListenAddress::Parse("[::1]:0")->host, "::1");
  EXPECT_EQ(ListenAddress::Parse("[::1]:0")->ToString(), "[::1]:0");
  for (const char* bad :
       {"", "host", "host:", ":7433", "host:x", "host:65536", "::1:7433", "a:-1"}) {
    EXPECT_FALSE(ListenAddress::Parse(bad).ok()) << bad;
  }
}

TEST(ListenAddressTest, AWildcardIsDialledAsLoopback) {
  EXPECT_EQ(ListenAddress::Parse("0.0.0.0:7433")->Local(), "127.0.0.1:7433");
  EXPECT_EQ(ListenAddress::Parse("[::]:7433")->Local(), "[::1]:7433");
  EXPECT_EQ(ListenAddress::Parse("127.0.0.2:7433")->Local(), "127.0.0.2:7433");
}

TEST(ListenAddressTest, OnlyThisMachineIsLoopback) {
  EXPECT_TRUE(ListenAddress::Parse("127.0.0.1:0")->IsLoopback());
  EXPECT_TRUE(ListenAddress::Parse("127.8.8.8:0")->IsLoopback());
  EXPECT_TRUE(ListenAddress::Parse("[::1]:0")->IsLoopback());
  EXPECT_FALSE(ListenAddress::Parse("0.0.0.0:0")->IsLoopback());
  EXPECT_FALSE(ListenAddress::Parse("[::]:0")->IsLoopback());
  EXPECT_FALSE(ListenAddress::Parse("10.0.0.1:0")->IsLoopback());
}

}  // namespace
}  // namespace neffcache
