#include "tests/bench/publication.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "io/digest.h"
#include "tests/bench/measurement.h"
#include "transport/limits.h"
#include "transport/status.h"

namespace neffcache::bench {
namespace {

constexpr int kThreads = 16;

}  // namespace

std::string RandomBytes(uint64_t seed, uint64_t size) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (uint64_t at = 0; at < size; at += 8) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min<uint64_t>(8, size - at));
  }
  return bytes;
}

Published Publish(v1::GraphCache::Stub& stub, uint64_t seed, absl::string_view artifact) {
  Published published;
  published.digest = std::string(Sha256Of(artifact).bytes());

  v1::PublishRequest request;
  v1::PublishStart& start = *request.mutable_start();
  v1::KeyMaterial& material = *start.mutable_material();
  material.mutable_fingerprint()->set_tag("neffcache-raw-1");
  material.mutable_fingerprint()->set_digest(
      std::string(Sha256Of(absl::StrCat("graph ", seed)).bytes()));
  material.add_options("--target=trn1");
  material.mutable_toolchain()->set_name("neuronx-cc");
  material.mutable_toolchain()->set_version("2.27.5334.0+2d4f85be");
  start.mutable_artifact()->set_digest(published.digest);
  start.mutable_artifact()->set_size(artifact.size());
  start.set_client("bench");

  grpc::ClientContext context;
  v1::PublishResponse response;
  const std::unique_ptr<grpc::ClientWriter<v1::PublishRequest>> writer =
      stub.Publish(&context, &response);
  // The daemon may answer early; Finish() tells.
  bool more = writer->Write(request);
  for (absl::string_view rest = artifact; more && !rest.empty();) {
    const absl::string_view piece = rest.substr(0, kPieceSize);
    request.set_data(std::string(piece));
    more = writer->Write(request);
    rest.remove_prefix(piece.size());
  }
  writer->WritesDone();
  Require(FromGrpc(writer->Finish(), "publishing"));
  published.key = response.entry().key();
  return published;
}

std::vector<Published> PublishMany(v1::GraphCache::Stub& stub, uint64_t first_seed, int count,
                                   uint64_t size) {
  std::vector<Published> all(count);
  std::atomic<int> next = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = next++; i < count; i = next++) {
        all[i] = Publish(stub, first_seed + i, RandomBytes(first_seed + i, size));
      }
    });
  }
  threads.clear();  // Joins.
  return all;
}

}  // namespace neffcache::bench
