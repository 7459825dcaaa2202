#include "compiler_driver/compile_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "io/utf8.h"

namespace neffcache {
namespace {

constexpr size_t kLogTailLimit = 64 << 10;
// Of each of the compiler's own log files, its end.
constexpr uint64_t kLogFileLimit = 1 << 20;

absl::StatusOr<CompiledArtifact> HashOutput(const std::string& path, uint64_t size_limit) {
  absl::StatusOr<Fd> fd = OpenForRead(path);
  if (absl::IsNotFound(fd.status())) return absl::DataLossError("it was not written");
  RETURN_IF_ERROR(fd.status());
  CompiledArtifact artifact;
  artifact.path = path;
  ASSIGN_OR_RETURN(artifact.size, FileSize(fd->get(), path));
  if (artifact.size == 0) return absl::DataLossError("it is empty");
  if (size_limit != 0 && artifact.size > size_limit) {
    return absl::OutOfRangeError(
        absl::StrCat("it has ", artifact.size, " bytes, the store takes ", size_limit));
  }
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  uint64_t offset = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const size_t n, ReadAt(fd->get(), offset, std::span<char>(buffer), path));
    hash.Update(absl::string_view(buffer.data(), n));
    offset += n;
    if (n < buffer.size()) break;
  }
  if (offset != artifact.size) return absl::DataLossError("it changed while it was read");
  artifact.digest = hash.Finish();
  return artifact;
}

absl::StatusOr<CompiledArtifact> TakeOutput(const CompilerToolchain& toolchain,
                                            const CompileJob& job) {
  const std::string path = absl::StrCat(job.directory, "/", toolchain.output_file_name());
  ASSIGN_OR_RETURN(CompiledArtifact artifact, HashOutput(path, job.limits.output_bytes));
  RETURN_IF_ERROR(toolchain.CheckOutput(path, job.options));
  return artifact;
}

// The end of a log file; empty when there is none.
std::string ReadEnd(const std::string& path) {
  const absl::StatusOr<Fd> fd = OpenForRead(path);
  if (!fd.ok()) return "";
  const absl::StatusOr<uint64_t> size = FileSize(fd->get(), path);
  if (!size.ok()) return "";
  std::string end(std::min(*size, kLogFileLimit), '\0');
  const absl::StatusOr<size_t> got =
      ReadAt(fd->get(), *size - end.size(), std::span<char>(end), path);
  end.resize(got.value_or(0));
  return end;
}

}  // namespace

CompileOutcome RunCompile(const CompilerToolchain& toolchain, const CompileJob& job,
                          const std::stop_token& stop, ChildProgress* progress) {
  const CompilerCommand command = toolchain.CommandFor(job.options);
  ChildSpec spec;
  spec.argv = command.argv;
  spec.environment = job.environment;
  spec.working_directory = job.directory;
  spec.output_file = absl::StrCat(job.directory, "/", toolchain.output_file_name());
  spec.limits = job.limits;

  FailureEvidence evidence;
  evidence.program = std::string(toolchain.name());
  evidence.child = RunChild(spec, stop, progress);

  CompileOutcome outcome;
  outcome.compile_time = evidence.child.wall_clock;
  outcome.peak_memory_bytes = evidence.child.peak_memory_bytes;
  outcome.log_tail = std::string(Utf8Tail(ToUtf8(evidence.child.log), kLogTailLimit));
  outcome.log = evidence.child.log;
  for (const std::string& file : command.log_files) {
    const std::string text = ReadEnd(absl::StrCat(job.directory, "/", file));
    if (text.empty()) continue;
    absl::StrAppend(&evidence.log_file, text);
    absl::StrAppend(&outcome.log, "\n[neffcache: ", file, "]\n", text);
  }

  if (evidence.child.end == ChildEnd::kExited && evidence.child.exit_code == 0) {
    absl::StatusOr<CompiledArtifact> artifact = TakeOutput(toolchain, job);
    if (artifact.ok()) {
      outcome.result = *std::move(artifact);
      return outcome;
    }
    evidence.output_error = artifact.status();
    if (absl::IsOutOfRange(artifact.status())) evidence.child.end = ChildEnd::kOverOutput;
  }
  outcome.result = toolchain.Classify(evidence);
  return outcome;
}

}  // namespace neffcache
