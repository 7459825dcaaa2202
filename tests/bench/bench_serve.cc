// Measures what a daemon serves: lookups, small artifacts to many clients, one large artifact.

#include <grpcpp/client_context.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "io/digest.h"
#include "io/file.h"
#include "neffcache/client.h"
#include "neffcache/v1/cache.grpc.pb.h"
#include "tests/bench/daemon_process.h"
#include "tests/bench/fetch_load.h"
#include "tests/bench/measurement.h"
#include "tests/bench/publication.h"
#include "transport/channel.h"
#include "transport/limits.h"
#include "transport/status.h"

namespace neffcache::bench {
namespace {

constexpr uint64_t kSmallArtifact = 64 << 10;
constexpr int kSmallArtifacts = 64;
// Seeds of the three sets of keys, far enough apart.
constexpr uint64_t kLookupSeed = 1'000'000;
constexpr uint64_t kFetchSeed = 2'000'000;
constexpr uint64_t kLargeSeed = 3'000'000;

struct Sizes {
  int keys = 10'000;
  int rounds = 20;
  absl::Duration load = absl::Seconds(5);
  uint64_t large_mb = 256;
  int large_rounds = 5;
};

void MeasureLookup(v1::GraphCache::Stub& stub, const Sizes& sizes, Report& report) {
  const std::vector<Published> present = PublishMany(stub, kLookupSeed, sizes.keys, 256);
  v1::LookupRequest request;
  for (const Published& one : present) request.add_keys(one.key);
  const auto look_up = [&] {
    grpc::ClientContext context;
    v1::LookupResponse response;
    Require(FromGrpc(stub.Lookup(&context, request, &response), "looking up"));
    for (const v1::LookupResult& result : response.results()) {
      if (result.state() != v1::LookupResult::STATE_READY) {
        Require(absl::NotFoundError("a published key is not ready"));
      }
    }
  };
  const double first = absl::ToDoubleMilliseconds(TimeEach(1, look_up).front());
  const std::vector<absl::Duration> times = TimeEach(sizes.rounds, look_up);
  report.Add("first lookup, from the database", {first, first, first, sizes.keys / first * 1e3});
  report.Add(
      absl::StrCat("lookup of ", sizes.keys, " keys"),
      {absl::ToDoubleMilliseconds(Best(times)), absl::ToDoubleMilliseconds(Percentile(times, 0.5)),
       absl::ToDoubleMilliseconds(Percentile(times, 0.99)),
       sizes.keys / absl::ToDoubleSeconds(Percentile(times, 0.5))});
}

void MeasureSmallFetches(v1::GraphCache::Stub& stub, const std::string& address, const Sizes& sizes,
                         Report& report) {
  std::vector<std::string> digests;
  for (Published& one : PublishMany(stub, kFetchSeed, kSmallArtifacts, kSmallArtifact)) {
    digests.push_back(std::move(one.digest));
  }
  for (const int clients : {1, 8, 64}) {
    const FetchLoad load = LoadWithFetches(address, digests, kSmallArtifact, clients, sizes.load);
    report.Add(absl::StrCat("fetch of 64 KiB, ", clients, clients == 1 ? " client" : " clients"),
               {absl::ToDoubleMilliseconds(Best(load.latencies)),
                absl::ToDoubleMilliseconds(Percentile(load.latencies, 0.5)),
                absl::ToDoubleMilliseconds(Percentile(load.latencies, 0.99)), load.per_second});
  }
}

void MeasureLargeFetch(v1::GraphCache::Stub& stub, const DaemonProcess& daemon, const Sizes& sizes,
                       Report& report) {
  const std::string source = daemon.directory() + "/source";
  const std::string target = daemon.directory() + "/target";
  ArtifactName name;
  {
    const std::string bytes = RandomBytes(kLargeSeed, sizes.large_mb << 20);
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(source);
    Require(file.status());
    Require(file->Write(bytes));
    Require(file->Commit(Durability::kBuffered));
    Publish(stub, kLargeSeed, bytes);
    name = {Sha256Of(bytes).Hex(), bytes.size()};
  }
  ClientOptions options;
  options.daemon = daemon.address();
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(options);
  Require(client.status());

  // Each starts without a target, as a trainer does.
  const auto anew = [&](auto call) {
    return [&target, call] {
      std::filesystem::remove(target);
      call();
    };
  };
  const auto copy = [&] { RunProgram({"cp", source, target}); };
  const std::vector<std::vector<absl::Duration>> times = TimeInTurns(
      sizes.large_rounds, {anew([&] { Require((*client)->Fetch(name, target)); }), anew([&] {
                             copy();
                             RunProgram({"sha256sum", target});
                           }),
                           anew(copy)});
  const auto rate = [&](size_t i) {
    return static_cast<double>(name.size) / 1e6 / absl::ToDoubleSeconds(Percentile(times[i], 0.5));
  };
  report.Add(absl::StrCat("fetch of ", sizes.large_mb, " MiB to a verified file"), {rate(0), 1.0});
  report.Add("cp and sha256sum of it", {rate(1), rate(0) / rate(1)});
  report.Add("cp alone", {rate(2), rate(0) / rate(2)});
}

int Main(int argc, char** argv) {
  CLI::App app("Measures what a neffcached serves, started for the purpose.");
  std::string program =
      std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() / "bin/neffcached";
  std::string json;
  bool smoke = false;
  int lookup_rounds = 0;
  app.add_option("--neffcached", program, "The daemon to measure.")->capture_default_str();
  app.add_option("--json", json, "Prefix of the files for the figures.");
  app.add_flag("--smoke", smoke, "Small sizes: shows that it runs, not how fast.");
  app.add_option("--only-lookups", lookup_rounds, "Measures lookups alone, this many times.");
  CLI11_PARSE(app, argc, argv);
  Sizes sizes;
  if (smoke) sizes = {200, 5, absl::Milliseconds(300), 16, 2};

  const DaemonProcess daemon(program);
  const std::unique_ptr<v1::GraphCache::Stub> stub =
      v1::GraphCache::NewStub(OpenChannel(daemon.address()));
  Report small("serving", {"best ms", "p50 ms", "p99 ms", "per second"});
  if (lookup_rounds > 0) sizes.rounds = lookup_rounds;
  MeasureLookup(*stub, sizes, small);
  if (lookup_rounds > 0) {
    small.Print();
    return EXIT_SUCCESS;
  }
  MeasureSmallFetches(*stub, daemon.address(), sizes, small);
  small.Print();
  Report large("large artifact", {"MB/s", "fetch to this"});
  MeasureLargeFetch(*stub, daemon, sizes, large);
  large.Print();
  if (!json.empty()) {
    Require(small.Save(json + "-small.json"));
    Require(large.Save(json + "-large.json"));
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace neffcache::bench

int main(int argc, char** argv) {
  // Debian's Abseil is built with its lock-order checker on; only tests want it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return neffcache::bench::Main(argc, argv);
}
