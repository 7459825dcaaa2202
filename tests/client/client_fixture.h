#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "client/identified_spec.h"
#include "neffcache/client.h"
#include "tests/client/fake_daemon.h"
#include "tests/client/scratch_directory.h"

namespace neffcache {

// A client of a fake daemon, with a graph to compile.
class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    options_.daemon = daemon_.address();
    options_.name = "test";
    options_.reconnect_timeout = absl::ZeroDuration();  // Where a test is not about that.
    Connect();
    spec_.graph_path = scratch_.Write("graph.bytes", "the graph");
    spec_.flags = {"--optlevel=1"};
    spec_.toolchain_name = "test-compiler";
    spec_.toolchain_version = "1.0";
    spec_.bundle = "bundle";
  }

  // Its calls use what the test owns.
  void TearDown() override { daemon_.Stop(); }

  void Connect() { client_ = *Client::Create(options_); }

  IdentifiedSpec Identified() const { return *IdentifySpec(spec_); }
  std::string KeyBytes() const { return std::string(Identified().key.bytes()); }

  // Names in the scratch directory, sorted: shows temporary files that were left.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(scratch_.Path())) {
      names.push_back(file.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  ScratchDirectory scratch_;
  FakeDaemon daemon_;
  ClientOptions options_;
  std::unique_ptr<Client> client_;
  CompileSpec spec_;
};

inline ArtifactName NameOf(const std::string& bytes) {
  return {Sha256Of(bytes).Hex(), bytes.size()};
}

// Bytes that look different at every offset.
inline std::string PatternBytes(size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 1;
  for (char& c : bytes) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return bytes;
}

}  // namespace neffcache
