#include "server/rpc/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<AddressList> Resolve(const ListenAddress& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("resolving ", address.host, ": ", gai_strerror(error)));
  }
  return AddressList(list, &freeaddrinfo);
}

bool IsLoopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
  }
  return false;
}

}  // namespace

absl::StatusOr<ListenAddress> ListenAddress::Parse(absl::string_view text) {
  const absl::Status malformed = absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not an address; write HOST:PORT or [V6]:PORT"));
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return malformed;
  absl::string_view host = text.substr(0, colon);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  } else if (absl::StrContains(host, ":")) {
    return malformed;
  }
  uint32_t port = 0;
  if (host.empty() || !absl::SimpleAtoi(text.substr(colon + 1), &port) || port > 65535) {
    return malformed;
  }
  return ListenAddress{std::string(host), static_cast<uint16_t>(port)};
}

std::string ListenAddress::ToString() const {
  const bool v6 = absl::StrContains(host, ":");
  return absl::StrCat(v6 ? "[" : "", host, v6 ? "]" : "", ":", port);
}

std::string ListenAddress::Local() const {
  if (host == "0.0.0.0") return ListenAddress{"127.0.0.1", port}.ToString();
  if (host == "::") return ListenAddress{"::1", port}.ToString();
  return ToString();
}

bool ListenAddress::IsLoopback() const {
  const absl::StatusOr<AddressList> list = Resolve(*this);
  if (!list.ok()) return false;
  for (const addrinfo* one = list->get(); one != nullptr; one = one->ai_next) {
    if (!neffcache::IsLoopback(*one->ai_addr)) return false;
  }
  return true;
}

absl::Status ListenAddress::TryBind() const {
  const std::string doing = absl::StrCat("listening on ", ToString());
  ASSIGN_OR_RETURN(const AddressList list, Resolve(*this));
  const addrinfo& first = *list;
  const Fd fd(socket(first.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, doing);
  // As gRPC does: connections of a predecessor in TIME_WAIT do not count.
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd.get(), first.ai_addr, first.ai_addrlen) != 0 || listen(fd.get(), 1) != 0) {
    return absl::ErrnoToStatus(errno, doing);
  }
  return absl::OkStatus();
}

}  // namespace neffcache
