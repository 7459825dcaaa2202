#include "transport/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server_builder.h>

#include "transport/limits.h"

namespace neffcache {
namespace {

// Bandwidth probing halves a single stream's rate inside a data centre; a fixed window of rate x
// round trip (25 Gb/s x 1 ms) is what it would have found.
constexpr int kWindowBytes = 4 << 20;
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
// gRPC's own go up to two minutes: a daemon that is restarted would be found long after it is back.
constexpr int kFirstReconnectMs = 200;
constexpr int kLongestReconnectMs = 2'000;

template <typename SetInt>
void ApplyShared(SetInt set) {
  set(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(kMaxMessageSize));
  set(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

}  // namespace

void ApplyTransportArguments(grpc::ChannelArguments& arguments) {
  ApplyShared([&](const char* name, int value) { arguments.SetInt(name, value); });
  // Cluster hosts export proxy variables that are meant for the outside.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
}

void ApplyTransportArguments(grpc::ServerBuilder& builder) {
  ApplyShared([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
  // Otherwise a client's keep-alive pings count as abuse.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kKeepaliveMs / 3);
  // Otherwise a second daemon silently shares the port.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 256);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
}

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address, Connection connection) {
  grpc::ChannelArguments arguments;
  ApplyTransportArguments(arguments);
  if (connection == Connection::kOwn) {
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  }
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace neffcache
