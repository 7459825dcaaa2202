#include "client/cli/target.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/admin.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache::cli {

bool LooksLikeKey(absl::string_view argument) {
  return argument.size() >= 8 && argument.size() <= 2 * Key::kSize &&
         std::all_of(argument.begin(), argument.end(),
                     [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); });
}

bool IsKeyArgument(const std::string& argument) {
  return access(argument.c_str(), F_OK) != 0 && LooksLikeKey(argument);
}

absl::StatusOr<Key> ResolveKeyArgument(Session& session, const std::string& argument) {
  if (!LooksLikeKey(argument)) {
    return UsageError(absl::StrCat("\"", argument, "\" is not a key: 8 to 64 hex digits"));
  }
  ASSIGN_OR_RETURN(Daemon * daemon, session.daemon());
  return AdminClient(*daemon).ResolveKey(absl::AsciiStrToLower(argument));
}

absl::StatusOr<IdentifiedSpec> IdentifyGraphArgument(Session& session, ToolchainChoice& toolchain,
                                                     const std::string& path, bool exact_order) {
  ASSIGN_OR_RETURN(const Toolchain chosen, toolchain.Get());
  CompileSpec spec;
  spec.graph_path = path;
  spec.flags = session.flags;
  spec.toolchain_name = chosen.name;
  spec.toolchain_version = chosen.version;
  spec.exact_order = exact_order;
  return IdentifySpec(spec);
}

absl::Status CheckCacheable(const IdentifiedSpec& identified) {
  if (identified.uncacheable_reason.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      identified.spec.graph_path, " is never cached: ", identified.uncacheable_reason));
}

absl::StatusOr<Target> TargetResolver::Resolve(const std::string& argument) {
  Target target;
  target.argument = argument;
  if (IsKeyArgument(argument)) {
    ASSIGN_OR_RETURN(target.key, ResolveKeyArgument(session_, argument));
    return target;
  }
  // What is neither ends here too: the error of opening it says so best.
  target.is_graph = true;
  RETURN_IF_ERROR(OpenForRead(argument).status());
  ASSIGN_OR_RETURN(const IdentifiedSpec identified,
                   IdentifyGraphArgument(session_, toolchain_, argument, /*exact_order=*/false));
  RETURN_IF_ERROR(CheckCacheable(identified));
  target.key = identified.key;
  return target;
}

}  // namespace neffcache::cli
