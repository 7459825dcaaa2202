// Identifies the graph named on its command line, and asks a daemon that is not there.
#include <iostream>
#include <memory>

#include "neffcache/client.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  neffcache::CompileSpec spec;
  spec.graph_path = argv[1];
  spec.toolchain_name = "compiler";
  spec.toolchain_version = "1";
  const absl::StatusOr<neffcache::CompileIdentity> identity = neffcache::Identify(spec);
  if (!identity.ok()) {
    std::cerr << identity.status() << '\n';
    return 1;
  }
  std::cout << identity->key << '\n';

  neffcache::ClientOptions options;
  options.daemon = "127.0.0.1:1";
  const absl::StatusOr<std::unique_ptr<neffcache::Client>> client =
      neffcache::Client::Create(options);
  if (!client.ok()) return 1;
  return absl::IsUnavailable((*client)->Lookup({identity->key}).status()) ? 0 : 1;
}
