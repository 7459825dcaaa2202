#include "compiler_driver/lease_runner.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler_driver/child_environment.h"
#include "compiler_driver/daemon_calls.h"
#include "compiler_driver/kernel_files.h"
#include "graph/compiler_input.h"
#include "graph/fingerprint.h"
#include "graph/graph_pack.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "io/utf8.h"

namespace neffcache {
namespace {

// What a compiler needs for its intermediate files at the least, besides the graph itself.
constexpr uint64_t kMinFreeBytes = uint64_t{64} << 20;

// The compiler was never reached: the environment's fault, to be tried elsewhere.
CompileOutcome NotCompiled(const absl::Status& why) {
  CompileFailure failure;
  failure.failure_class = CompileFailureClass::kTransient;
  failure.message = std::string(Utf8Head(ToUtf8(why.message()), 1024));
  CompileOutcome outcome;
  outcome.result = std::move(failure);
  return outcome;
}

// Replaces a wrapped graph (a pack, gzip, zstd, HloProto, HloSnapshot) by the bare module: all have
// one fingerprint, and compilers read bare modules only. A graph that cannot be unwrapped stays.
absl::Status Unwrap(const std::string& path) {
  ASSIGN_OR_RETURN(const FileContents graph, FileContents::Load(path));
  std::string storage;
  const absl::StatusOr<absl::string_view> module =
      CompilerInput(graph.bytes(), IdentifyOptions().unwrap_limit, &storage);
  if (!module.ok() && IsGraphPack(graph.bytes())) return module.status();
  if (!module.ok() || module->size() == graph.bytes().size()) return absl::OkStatus();
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, 0600));
  RETURN_IF_ERROR(file.Write(*module));
  return file.Commit(Durability::kBuffered);
}

std::string Short(const WorkLease& lease) {
  return absl::StrCat(lease.key.substr(0, 12),
                      lease.graph_name.empty() ? "" : absl::StrCat(" (", lease.graph_name, ")"));
}

void LogOutcome(const WorkLease& lease, const CompileOutcome& outcome) {
  const double seconds = absl::ToDoubleSeconds(outcome.compile_time);
  if (const CompiledArtifact* artifact = outcome.artifact()) {
    spdlog::info("compiled {} in {:.2f} s: {} bytes, {} MiB at its peak", Short(lease), seconds,
                 artifact->size, outcome.peak_memory_bytes >> 20);
    return;
  }
  const auto& failure = std::get<CompileFailure>(outcome.result);
  spdlog::warn("compile of {} failed after {:.2f} s ({}): {}", Short(lease), seconds,
               std::string(ToString(failure.failure_class)), failure.message);
}

}  // namespace

OfferedToolchain* LeaseRunner::Find(absl::string_view name) const {
  for (const auto& toolchain : toolchains_) {
    if (toolchain->name() == name) return toolchain.get();
  }
  return nullptr;
}

absl::Status LeaseRunner::CheckFreeSpace(const WorkLease& lease) const {
  ASSIGN_OR_RETURN(const uint64_t free, scratch_.FreeBytes());
  const uint64_t wanted = kMinFreeBytes + 2 * lease.graph_size;
  if (free >= wanted) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("scratch directory ", scratch_.path(), " has ",
                                                   free >> 20, " MiB free, the compile wants ",
                                                   wanted >> 20));
}

absl::StatusOr<CompileOutcome> LeaseRunner::Compile(HeldLease& held,
                                                    const ScratchDirectory& directory,
                                                    OfferedToolchain& toolchain) const {
  const WorkLease& lease = held.lease;
  const std::stop_token stop = held.stop.get_token();
  const CompilerToolchain& compiler = toolchain.compiler();
  const std::string graph = absl::StrCat(directory.path(), "/", compiler.graph_file_name());
  const absl::Status fetched = held.calls->FetchGraph(lease, graph, stop);
  if (stop.stop_requested() || absl::IsNotFound(fetched)) {
    return absl::CancelledError("the lease is void");
  }
  if (!fetched.ok()) return NotCompiled(fetched);
  const absl::StatusOr<KernelFiles> kernels = KernelFiles::LayOut(graph, directory.path());
  if (!kernels.ok()) return NotCompiled(kernels.status());
  if (const absl::Status unwrapped = Unwrap(graph); !unwrapped.ok()) return NotCompiled(unwrapped);

  const std::string temporary = absl::StrCat(directory.path(), "/tmp");
  if (const absl::Status made = CreateDirectories(temporary); !made.ok()) return NotCompiled(made);
  const std::pair<std::string, std::string> given[] = {{"TMPDIR", temporary}};
  CompileJob job;
  job.directory = directory.path();
  job.options = lease.options;
  job.environment = CompilerEnvironment(environ, options_.pass_environment, given);
  job.limits.wall_clock = lease.time_limit;
  job.limits.memory_bytes = lease.memory_limit_bytes;
  job.limits.address_space_bytes = options_.address_space_bytes;
  job.limits.output_bytes = lease.output_limit_bytes;
  job.limits.grace = options_.grace;
  CompileOutcome outcome = RunCompile(compiler, job, stop, &held.progress);
  if (stop.stop_requested()) return absl::CancelledError("the lease is void");
  if (const absl::Status same = kernels->CheckUnchanged(); !same.ok()) return NotCompiled(same);
  return outcome;
}

absl::Status LeaseRunner::Run(HeldLease& held) const {
  const WorkLease& lease = held.lease;
  const std::stop_token stop = held.stop.get_token();
  OfferedToolchain* const toolchain = Find(lease.toolchain);
  absl::Status offer =
      toolchain == nullptr
          ? absl::FailedPreconditionError(absl::StrCat("no toolchain ", lease.toolchain, " here"))
          : toolchain->StillAsOffered(lease.version, stop);
  const absl::StatusOr<ScratchDirectory> directory = [&]() -> absl::StatusOr<ScratchDirectory> {
    RETURN_IF_ERROR(offer);
    RETURN_IF_ERROR(CheckFreeSpace(lease));
    return scratch_.MakeDirectory(absl::StrCat("compile-", lease.token));
  }();

  CompileOutcome outcome;
  if (directory.ok()) {
    spdlog::info("compiling {} with {} {}", Short(lease), lease.toolchain, lease.version);
    absl::StatusOr<CompileOutcome> compiled = Compile(held, *directory, *toolchain);
    if (!compiled.ok()) {
      spdlog::info("gave up {}: {}", Short(lease), std::string(compiled.status().message()));
      return absl::OkStatus();
    }
    outcome = *std::move(compiled);
    // An upgrade in the midst of the compile leaves an artifact of neither version.
    offer = toolchain->StillAsOffered(lease.version, stop);
    if (!offer.ok()) outcome = NotCompiled(offer);
  } else {
    outcome = NotCompiled(directory.status());
  }
  LogOutcome(lease, outcome);

  absl::StatusOr<bool> committed = held.calls->Finish(lease, outcome, stop);
  const bool is_void = stop.stop_requested() || absl::IsFailedPrecondition(committed.status());
  if (!committed.ok() && !is_void && outcome.artifact() != nullptr) {
    // The artifact could not be handed over (the store is full, a file is gone): say so instead.
    committed = held.calls->Finish(lease, NotCompiled(committed.status()), stop);
  }
  if (committed.ok()) {
    if (!*committed && outcome.artifact() != nullptr) {
      spdlog::info("{} already had an artifact, which stays", Short(lease));
    }
    return offer;
  }
  if (stop.stop_requested() || absl::IsFailedPrecondition(committed.status())) {
    spdlog::info("result of {} was discarded: the lease is void", Short(lease));
    return offer;
  }
  return committed.status();
}

}  // namespace neffcache
