#include "client/shim/artifact_staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/shim/last_resort.h"
#include "io/file.h"

namespace neffcache::shim {
namespace {

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status WritingError(int error, const std::string& output) {
  return absl::ErrnoToStatus(error, absl::StrCat("writing ", output));
}

}  // namespace

absl::StatusOr<OutputKind> InspectOutput(const std::string& output) {
  struct stat info;
  const bool exists = lstat(output.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return WritingError(errno, output);
  if (exists && !S_ISREG(info.st_mode)) return OutputKind::kCompilerOnly;
  if (access(DirectoryOf(output).c_str(), W_OK | X_OK) == 0) return OutputKind::kReplaceable;
  const int error = errno;
  if (error == ENOENT) return OutputKind::kCompilerOnly;
  if (exists && access(output.c_str(), W_OK) == 0) return OutputKind::kCompilerOnly;
  return WritingError(error, output);
}

ArtifactStaging::ArtifactStaging(std::string directory, std::string output)
    : directory_(std::move(directory)), output_(std::move(output)) {}

ArtifactStaging::ArtifactStaging(ArtifactStaging&& other) noexcept
    : directory_(std::exchange(other.directory_, "")), output_(std::move(other.output_)) {}

ArtifactStaging::~ArtifactStaging() {
  if (!directory_.empty()) RemoveStagingDirectory();
}

absl::StatusOr<ArtifactStaging> ArtifactStaging::Create(const std::string& output) {
  const std::string parent = DirectoryOf(output);
  std::string directory = absl::StrCat(parent == "/" ? "" : parent, "/.neffcache-XXXXXX");
  if (mkdtemp(directory.data()) == nullptr) return WritingError(errno, output);
  if (!SetStagingDirectory(directory)) {
    rmdir(directory.c_str());
    return WritingError(ENAMETOOLONG, output);
  }
  return ArtifactStaging(std::move(directory), output);
}

absl::Status ArtifactStaging::Commit() {
  if (std::rename(path().c_str(), output_.c_str()) != 0) return WritingError(errno, output_);
  return absl::OkStatus();
}

absl::Status ArtifactStaging::ProbeSpace(uint64_t size) const {
  const std::string probe = directory_ + "/probe";
  const Fd fd(open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return WritingError(errno, output_);
  const int error = size == 0 ? 0 : posix_fallocate(fd.get(), 0, static_cast<off_t>(size));
  unlink(probe.c_str());
  return error == 0 ? absl::OkStatus() : WritingError(error, output_);
}

}  // namespace neffcache::shim
