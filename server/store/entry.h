#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "graph/key.h"
#include "io/digest.h"

namespace neffcache {

// The compiler's output, named by the SHA-256 of its bytes.
struct Artifact {
  Digest digest;
  uint64_t size = 0;  // In bytes.

  friend bool operator==(const Artifact&, const Artifact&) = default;
};

// Decides what happens after a failed compile (see types.proto).
enum class FailureClass { kDeterministic, kMemory, kTransient, kUnclear };

// A compile that gave no artifact, as its callers see it.
struct Failure {
  FailureClass failure_class = FailureClass::kUnclear;
  std::string message;
  int exit_code = -1;  // -1 when it ended by a signal or was never started.
  int signal = 0;
  std::string log_tail;  // At most 64 KiB.
  absl::Time failed_at = absl::UnixEpoch();
  absl::Time remembered_until = absl::InfinitePast();  // Not remembered.
  std::string worker;
  uint32_t attempts = 0;
};

// The graph that a compile starts from, as the store keeps it.
struct GraphRecord {
  Digest digest;      // Of the bytes as sent, uncompressed. Empty when none is kept.
  uint64_t size = 0;  // Uncompressed, in bytes.
  std::string name;   // The module's name, for people.
  uint64_t instructions = 0;
};

// What the store holds for a key: ready (-> artifact) or failed (-> classified reason and log).
struct Entry {
  Key key;
  KeyMaterial material;
  std::variant<Artifact, Failure> state;
  absl::Time created = absl::UnixEpoch();  // Set by the commit when it is not set.
  absl::Duration compile_time;             // Zero when unknown.
  uint64_t peak_memory_bytes = 0;          // 0 when unknown.
  GraphRecord graph;
  Digest log;  // Empty when none is kept; set by the commit.
  std::string worker;
  uint64_t fencing_token = 0;  // Of the lease that committed it; 0 for published ones.

  const Artifact* ready() const { return std::get_if<Artifact>(&state); }
  const Failure* failed() const { return std::get_if<Failure>(&state); }
};

// What a lookup of many keys tells of a ready entry.
struct ReadyState {
  Artifact artifact;
  absl::Time created = absl::UnixEpoch();
  absl::Duration compile_time;  // Zero when unknown.

  friend bool operator==(const ReadyState&, const ReadyState&) = default;
};

// Why a compile is wanted; also its class in the queue, most urgent first.
enum class Purpose { kTrainer, kPrecompile, kRebuild };

// A compile that is not finished: what a restarted daemon needs to go on with it.
struct QueuedCompile {
  Key key;
  KeyMaterial material;
  GraphRecord graph;
  Purpose purpose = Purpose::kPrecompile;
  absl::Time queued = absl::UnixEpoch();
  uint32_t attempts = 0;
};

// How much a key is used.
struct KeyUse {
  absl::Time last_used = absl::UnixEpoch();
  uint64_t hits = 0;
};

}  // namespace neffcache
