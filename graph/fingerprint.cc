#include "graph/fingerprint.h"

#include "absl/strings/str_cat.h"

namespace neffcache {

absl::string_view ToString(GraphForm form) {
  switch (form) {
    case GraphForm::kHloModule:
      return "HloModuleProto";
    case GraphForm::kHloProto:
      return "HloProto";
    case GraphForm::kHloSnapshot:
      return "HloSnapshot";
    case GraphForm::kMlirBytecode:
      return "MLIR bytecode";
    case GraphForm::kOpaque:
      return "opaque";
  }
  return "opaque";
}

std::string ToString(const Fingerprint& fingerprint) {
  return absl::StrCat(fingerprint.tag, ":", fingerprint.digest.Hex());
}

absl::StatusOr<GraphIdentity> IdentifyGraph(absl::string_view bytes, const IdentifyOptions&) {
  if (bytes.empty()) return absl::InvalidArgumentError("the graph is empty");
  GraphIdentity identity;
  identity.fingerprint = {"neffcache-raw-1", Sha256Of(bytes)};
  return identity;
}

}  // namespace neffcache
