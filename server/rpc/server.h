#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/rpc/service_context.h"

namespace neffcache {

struct ServerOptions {
  std::string listen = "127.0.0.1:7433";  // HOST:PORT; port 0 takes any free one.
  ServiceLimits limits;
  // What all connections together may have read and not handed on; a connection that wants more
  // loses its calls. Enough for 128 uploads that fill their windows.
  size_t receive_bytes = size_t{512} << 20;
};

// The daemon's gRPC face: the three services of neffcache/v1, health and reflection on one
// plain-text port.
//
// Thread-safe. The destructor shuts down at once.
class Server {
 public:
  // Serves when this returns. `store` and `dispatcher` must outlive the server. INVALID_ARGUMENT: a
  // malformed address; other errors say why it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options, Store& store,
                                                       CompileDispatcher& dispatcher);
  ~Server();

  // The address that is listened on, with the real port.
  const std::string& address() const;
  // The same as a process of this machine dials it.
  const std::string& local_address() const;

  // Tells load balancers to stay away; calls are still served.
  void SetNotServing();

  // Takes no more calls, lets those that run end until `deadline`, then cancels them. Returns when
  // none is left. Idempotent.
  void Shutdown(absl::Time deadline);

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace neffcache
