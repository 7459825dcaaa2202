#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace neffcache {

inline constexpr absl::string_view kNeuronxCcName = "neuronx-cc";

// A file of this name marks a directory of our shims: no compiler is looked for there.
inline constexpr absl::string_view kShimMarker = ".neffcache-shim";

// True for a regular file that we may execute.
bool IsExecutableFile(const std::string& path);

// A relative entry of a PATH means another program in every directory.
enum class RelativeEntries { kFollowed, kSkipped };

// Where a compiler is looked for. A plain value, so that tests need not change the environment.
struct ProgramSearch {
  std::string path;  // Value of PATH.
  RelativeEntries relative_entries = RelativeEntries::kSkipped;
  // A program of ours that bears the compiler's name, by whatever link it is reached. Empty, or not
  // there: markers alone tell.
  std::string own_shim;
};

// True when `program` is our shim: `own_shim` itself, or in a directory with the marker, or a link
// to such a one.
bool IsOurShim(const std::string& program, const std::string& own_shim);

// The first executable `name` on the path that is not our shim. Looks at directories only:
// microseconds. NOT_FOUND: there is none.
absl::StatusOr<std::string> FindProgram(absl::string_view name, const ProgramSearch& search);

// Directory of the running program, links resolved.
absl::StatusOr<std::string> ProgramDirectory();

// Our shim beside programs in `program_directory`, in an installation as in a build tree.
std::string ShimOfInstallation(const std::string& program_directory);

}  // namespace neffcache
