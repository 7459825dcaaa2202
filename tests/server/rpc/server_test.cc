#include "server/rpc/server.h"

#include <grpcpp/generic/generic_stub.h>

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
                      const std::string& request, std::string& response) {
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
  call->Write(Bytes(request), nullptr);
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
        CallOnce(channel_, "/grpc.health.v1.Health/Check", request, response);
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
           std::string("\x3a\x01*", 3), response);
  for (const char* service : {"neffcache.v1.GraphCache", "neffcache.v1.CompileWorker",
                              "neffcache.v1.Admin", "grpc.health.v1.Health"}) {
    EXPECT_THAT(response, ::testing::HasSubstr(service));
  }
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
