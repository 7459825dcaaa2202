#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

// The C++ client of neffcache: get the artifact of a graph, compiled once per cluster.
//
// Keys, digests and fingerprints are lower-case hex strings here, so that this header depends on
// Abseil alone.
namespace neffcache {

struct ClientOptions {
  std::string daemon = "127.0.0.1:7433";
  // For calls that answer at once (lookup, list).
  absl::Duration call_timeout = absl::Seconds(10);
  // To reach the daemon at all; after it, UNAVAILABLE.
  absl::Duration connect_timeout = absl::Seconds(5);
  // A download or a wait in which nothing arrives for this long is broken off (DEADLINE_EXCEEDED).
  absl::Duration stall_timeout = absl::Seconds(30);
  // For how long a daemon that went away during a wait or a download is tried again: longer
  // than a daemon takes to drain (20 s, and its workers' grace) and start. Zero: not.
  absl::Duration reconnect_timeout = absl::Seconds(60);
  // What this client calls itself in the daemon's lists; empty: "host:pid".
  std::string name;
};

// What is to be compiled.
struct CompileSpec {
  std::string graph_path;          // The traced graph's file.
  std::vector<std::string> flags;  // Compiler flags as a user writes them; normalized here.
  std::string toolchain_name;      // "neuronx-cc"
  std::string toolchain_version;   // "2.27.5334.0+2d4f85be"
  std::string bundle;              // Recorded there when not empty.
  bool exact_order = false;        // Key on the instruction order as written.
};

// The identity of a spec, computed locally.
struct CompileIdentity {
  std::string key;
  std::string fingerprint_tag;
  std::string fingerprint;
  std::vector<std::string> options;
  std::string form;        // "HloModuleProto", ...
  std::string raw_reason;  // Why the raw bytes were hashed; empty when the canonical form was.
  std::string uncacheable_reason;  // Empty: cacheable.
  std::string dropped;             // Digest of what the canonical form leaves out.
  std::string graph_name;
  uint64_t instructions = 0;
};

struct ArtifactName {
  std::string digest;
  uint64_t size = 0;
};

// A failed compile, with what its caller needs to end as the compiler would.
struct CompileFailure {
  std::string failure_class;  // "deterministic", "memory", "transient", "unclear"
  std::string message;
  int exit_code = -1;
  int signal = 0;
  std::string log_tail;     // The end of what the compiler printed.
  bool log_is_cut = false;  // There was more: see Client::ReadLog().
  std::string worker;
  uint32_t attempts = 0;
  bool remembered = false;  // Replayed, or will be.
};

struct KeyState {
  enum class State { kAbsent, kCompiling, kReady, kFailed };
  State state = State::kAbsent;
  ArtifactName artifact;        // When ready.
  CompileFailure failure;       // When failed.
  absl::Duration compile_time;  // Of the compile that made it; zero when unknown.
  std::string log_digest;       // Names the kept log of the compiler; empty: none is kept.
  absl::optional<std::string>
      inline_artifact;  // The bytes, when they came with the answer (already verified).
};

// What is shown while waiting.
struct CompileProgress {
  enum class Phase { kUploading, kQueued, kRunning, kReconnecting };
  Phase phase = Phase::kQueued;
  std::string key;
  uint32_t position = 0;
  absl::Duration elapsed;   // Of the phase.
  absl::Duration expected;  // Zero when unknown; when reconnecting, what it gives up after.
  uint64_t memory_bytes = 0;
  std::string worker;
  std::string detail;  // The compiler's last log line, why it is not its turn, or what broke.
};

struct CompileOutcome {
  std::string key;
  // Exactly one of the two is set (neither after `until_queued`).
  absl::optional<ArtifactName> artifact;
  absl::optional<CompileFailure> failure;
  absl::optional<std::string> inline_artifact;
  bool compiled = false;  // False: it was there already.
  absl::Duration compile_time;
};

enum class CompilePurpose { kTrainer, kPrecompile, kRebuild };

struct WaitOptions {
  absl::Duration timeout =
      absl::InfiniteDuration();  // For the whole wait; DEADLINE_EXCEEDED after it.
  CompilePurpose purpose = CompilePurpose::kTrainer;
  bool retry_failed = false;
  bool refuse_unknown_toolchain =
      false;  // FAILED_PRECONDITION rather than waiting for a worker to appear.
  bool until_queued =
      false;  // Return, with neither set, once it is queued and the daemon keeps it.
  std::function<void(const CompileProgress&)> on_progress;  // Called on the waiting thread.
};

struct BundleEntry {
  std::string key;
  KeyState state;
};

// Computes the identity of a spec without a daemon. Errors name the file: NOT_FOUND,
// INVALID_ARGUMENT (a directory, an empty graph, a flag without its value), RESOURCE_EXHAUSTED (a
// decompression bomb).
absl::StatusOr<CompileIdentity> Identify(const CompileSpec& spec);

// A connection to one daemon. Thread-safe. Every call has a deadline. A daemon that cannot be
// reached at first is UNAVAILABLE at once. One that goes away later, as for a restart, is waited
// for during `reconnect_timeout` by some calls: Fetch and Save resume where they stopped, and
// GetOrCompile asks anew, for the daemon's queue outlives it. Errors: UNAVAILABLE or
// DEADLINE_EXCEEDED mean "compile for yourself". Not to be used across fork(): gRPC is not.
class Client {
 public:
  // Does not connect yet. INVALID_ARGUMENT: the address is malformed.
  static absl::StatusOr<std::unique_ptr<Client>> Create(ClientOptions options);
  virtual ~Client() = default;

  // One state for each key (64 hex digits), in order.
  virtual absl::StatusOr<std::vector<KeyState>> Lookup(absl::Span<const std::string> keys,
                                                       absl::string_view bundle = {}) = 0;

  // Waits for the one compile of the spec, starting it if nobody has. A failed compile is an
  // outcome, not an error.
  virtual absl::StatusOr<CompileOutcome> GetOrCompile(const CompileSpec& spec,
                                                      const WaitOptions& options) = 0;

  // Downloads an artifact to `path`: a temporary file beside it, verified against the digest, then
  // renamed; a stall or break resumes where it stopped. On error nothing is left at `path`.
  // DATA_LOSS: the bytes do not have the digest.
  virtual absl::Status Fetch(const ArtifactName& artifact, const std::string& path) = 0;

  // All that is kept of what the compiler printed for a key. NOT_FOUND: nothing is.
  virtual absl::StatusOr<std::string> ReadLog(const std::string& key) = 0;

  // Puts what an outcome holds at `path`: the inline bytes or a Fetch. Unlike Fetch, it waits for a
  // daemon that has gone away since the outcome, for `reconnect_timeout`.
  virtual absl::Status Save(const CompileOutcome& outcome, const std::string& path) = 0;

  // Publishes an artifact file that the caller compiled itself. True when it was accepted, false
  // when an earlier one stays.
  virtual absl::StatusOr<bool> Publish(const CompileSpec& spec, const std::string& artifact_path,
                                       absl::Duration compile_time) = 0;

  // The keys of a bundle. NOT_FOUND: no such bundle.
  virtual absl::StatusOr<std::vector<BundleEntry>> GetBundle(const std::string& bundle) = 0;

  // What the daemon's workers offer: (name, version) pairs.
  virtual absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ListToolchains() = 0;
};

}  // namespace neffcache
