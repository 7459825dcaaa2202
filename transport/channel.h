#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

namespace neffcache {

// Whether a channel may share its TCP connection with others to the same address. Bulk transfers
// want their own: streams of one HTTP/2 connection share one window and one lock.
enum class Connection { kShared, kOwn };

// A lazily connected channel to a daemon, with the flow control, keep-alive and message limits of
// this protocol. Ignores proxy variables. Thread-safe. Must not be used across fork().
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address,
                                           Connection connection = Connection::kShared);

// What both ends set: BDP probing off, a 4 MiB window, the message limit, keep-alive every 30 s.
// channel.cc says why each.
void ApplyTransportArguments(grpc::ChannelArguments& arguments);

}  // namespace neffcache

namespace grpc {
class ServerBuilder;
}

namespace neffcache {
void ApplyTransportArguments(grpc::ServerBuilder& builder);
}
