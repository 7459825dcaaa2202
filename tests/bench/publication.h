#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "neffcache/v1/cache.grpc.pb.h"

namespace neffcache::bench {

struct Published {
  std::string key;     // 32 bytes.
  std::string digest;  // 32 bytes.
};

// Bytes that neither repeat nor compress; different for each seed.
std::string RandomBytes(uint64_t seed, uint64_t size);

// Publishes `artifact` under the key of a made-up graph, which `seed` makes unique. Trouble ends
// the benchmark.
Published Publish(v1::GraphCache::Stub& stub, uint64_t seed, absl::string_view artifact);

// Publishes `count` artifacts of `size` bytes, several at a time.
std::vector<Published> PublishMany(v1::GraphCache::Stub& stub, uint64_t first_seed, int count,
                                   uint64_t size);

}  // namespace neffcache::bench
