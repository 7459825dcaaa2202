#include "client/shim/cached_compile.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/shim/artifact_staging.h"

namespace neffcache::shim {
namespace {

constexpr char kToolchain[] = "neuronx-cc";
// What the compiler ends with when it has nothing better to say.
constexpr int kGenericExit = 70;

// The client's own deadlines (connecting, silence of the daemon) are shorter.
constexpr absl::Duration kLongestSilence = absl::Seconds(45);
constexpr absl::Duration kGrace = absl::Seconds(2);
// Slower reading and hashing of a graph, or slower downloading, is taken for a hang.
constexpr double kReadBytesPerSecond = 10e6;
constexpr double kDownloadBytesPerSecond = 1e6;

absl::Duration LimitOfSilence(const CachedCompileOptions& options) {
  struct stat info = {};
  stat(options.command_line.inputs.front().c_str(), &info);
  return std::min(options.wait + kGrace, kLongestSilence) +
         absl::Seconds(static_cast<double>(info.st_size) / kReadBytesPerSecond);
}

// Whether the real compiler here would end in the same way. Trouble with memory or a machine may
// be over, or elsewhere; the trainer's framework would record it as final.
bool WouldFailHere(const CompileFailure& failure) {
  return failure.failure_class == "deterministic" || failure.remembered;
}

RepeatedFailure Repeat(Client& client, const std::string& key, const CompileFailure& failure) {
  RepeatedFailure repeated;
  repeated.exit_code = failure.exit_code > 0 ? failure.exit_code : kGenericExit;
  repeated.signal = failure.signal;
  repeated.output = failure.log_tail.empty() ? failure.message : failure.log_tail;
  if (failure.log_is_cut) {
    // The cause stands at the beginning of a log as often as at its end.
    if (absl::StatusOr<std::string> whole = client.ReadLog(key); whole.ok()) {
      repeated.output = *std::move(whole);
    }
  }
  if (!repeated.output.empty() && repeated.output.back() != '\n') repeated.output += '\n';
  return repeated;
}

Ending OnFailure(Client& client, const CompileOutcome& outcome, bool have_compiler) {
  const CompileFailure& failure = *outcome.failure;
  if (WouldFailHere(failure) || !have_compiler) return Repeat(client, outcome.key, failure);
  return CompileHere{absl::StrCat("the compile failed on ",
                                  failure.worker.empty() ? "a worker" : failure.worker, " (",
                                  failure.failure_class, "): ", failure.message)};
}

// Trouble with what is asked is the compiler's to report, in its own words; other trouble is the
// cache's. The call has identified the graph already: doing so again costs little beside the
// compile that follows.
Ending OnTrouble(const absl::Status& trouble, const CompileSpec& spec) {
  CompileHere here{std::string(trouble.message())};
  if (absl::IsFailedPrecondition(trouble) || absl::IsInvalidArgument(trouble) ||
      absl::IsNotFound(trouble)) {
    const absl::StatusOr<CompileIdentity> identity = Identify(spec);
    if (!identity.ok() || !identity->uncacheable_reason.empty()) {
      here.audience = Audience::kVerbose;
    }
  }
  return here;
}

// Puts the artifact at `output`, whole.
Ending Deliver(Client& client, const CompileOutcome& outcome, const CachedCompileOptions& options) {
  absl::StatusOr<ArtifactStaging> staging = ArtifactStaging::Create(options.command_line.output);
  if (!staging.ok()) {
    std::string reason(staging.status().message());
    if (absl::IsResourceExhausted(staging.status())) return Hopeless{std::move(reason)};
    return CompileHere{std::move(reason)};
  }
  options.on_alive(
      kLongestSilence + options.reconnect +
      absl::Seconds(static_cast<double>(outcome.artifact->size) / kDownloadBytesPerSecond));
  if (const absl::Status saved = client.Save(outcome, staging->path()); !saved.ok()) {
    // The daemon's disk or ours? Ours fails the compiler as well.
    const absl::Status space = staging->ProbeSpace(outcome.artifact->size);
    if (!space.ok()) return Hopeless{std::string(space.message())};
    return CompileHere{std::string(saved.message())};
  }
  if (const absl::Status committed = staging->Commit(); !committed.ok()) {
    // Such as somebody else's file in a sticky directory, which the compiler may yet write.
    return CompileHere{std::string(committed.message())};
  }
  return Served{absl::StrCat(
      "artifact ", outcome.artifact->digest, " of key ", outcome.key, " came from neffcache at ",
      options.daemon, outcome.compiled ? ", compiled for this call" : "",
      outcome.compile_time > absl::ZeroDuration()
          ? absl::StrCat(" (", absl::FormatDuration(outcome.compile_time), " of compile time)")
          : "",
      "; no compiler ran here")};
}

}  // namespace

Ending CompileThroughCache(Client& client, const CachedCompileOptions& options) {
  const absl::StatusOr<OutputKind> kind = InspectOutput(options.command_line.output);
  if (!kind.ok()) return Hopeless{std::string(kind.status().message())};
  if (*kind == OutputKind::kCompilerOnly) {
    return CompileHere{absl::StrCat("the output ", options.command_line.output,
                                    " is not a file that can be replaced"),
                       Audience::kVerbose};
  }

  CompileSpec spec;
  spec.graph_path = options.command_line.inputs.front();
  spec.flags = options.command_line.flags;
  spec.toolchain_name = kToolchain;
  spec.toolchain_version = options.toolchain_version;
  spec.bundle = options.bundle;
  WaitOptions wait;
  wait.timeout = options.wait;
  wait.purpose = CompilePurpose::kTrainer;
  wait.refuse_unknown_toolchain = options.have_compiler;
  const absl::Duration silence = LimitOfSilence(options);
  wait.on_progress = [&](const CompileProgress& progress) {
    options.on_alive(silence);
    options.on_progress(progress);
  };
  options.on_alive(silence);
  absl::StatusOr<CompileOutcome> outcome = client.GetOrCompile(spec, wait);
  if (!outcome.ok()) return OnTrouble(outcome.status(), spec);
  if (outcome->failure.has_value()) {
    options.on_alive(silence);
    return OnFailure(client, *outcome, options.have_compiler);
  }
  if (!outcome->artifact.has_value())
    return CompileHere{"the daemon gave neither artifact nor failure"};
  return Deliver(client, *outcome, options);
}

}  // namespace neffcache::shim
