#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace neffcache::shim {

// Whether an artifact can be renamed onto `output` without doing what the compiler would not do.
enum class OutputKind {
  kReplaceable,   // Absent, or a regular file, in a directory that takes new names.
  kCompilerOnly,  // A device, a link, a directory, a file in a directory that we may not write, or
                  // no such directory: only the compiler itself knows what becomes of it.
};

// PERMISSION_DENIED and the like when nothing can be written there, by anybody.
absl::StatusOr<OutputKind> InspectOutput(const std::string& output);

// A private directory beside the output, in which an artifact becomes whole before it is renamed
// into place. A signal or crash in between removes it (last_resort.h). One at a time in a process.
class ArtifactStaging {
 public:
  static absl::StatusOr<ArtifactStaging> Create(const std::string& output);
  ~ArtifactStaging();
  ArtifactStaging(ArtifactStaging&& other) noexcept;
  ArtifactStaging& operator=(ArtifactStaging&&) = delete;

  // Where to put the artifact.
  std::string path() const { return directory_ + "/artifact"; }

  // Renames it onto the output.
  absl::Status Commit();

  // OK when this file system takes `size` more bytes: tells a full disk from trouble elsewhere.
  absl::Status ProbeSpace(uint64_t size) const;

 private:
  ArtifactStaging(std::string directory, std::string output);

  std::string directory_;  // Empty once moved from.
  std::string output_;
};

}  // namespace neffcache::shim
