#include "server/rpc/from_wire.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/fingerprint.h"
#include "graph/options.h"
#include "io/status_macros.h"
#include "server/store/entry_messages.h"
#include "server/store/near_entry.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

constexpr size_t kMaxLogLine = size_t{4} << 10;
constexpr size_t kMaxMessage = size_t{4} << 10;

absl::Status Invalid(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
}

absl::Status CheckSize(absl::string_view value, absl::string_view field, size_t limit) {
  if (value.size() <= limit) return absl::OkStatus();
  return Invalid(field, absl::StrCat(value.size(), " bytes, the limit is ", limit));
}

absl::Status CheckOptions(const KeyMaterial& material, absl::string_view field) {
  const absl::string_view toolchain = material.toolchain.name;
  const absl::StatusOr<NormalizedOptions> normalized =
      NormalizeOptions(toolchain, material.options);
  if (!normalized.ok()) return Invalid(field, normalized.status().message());
  if (!normalized->cacheable()) {
    return Invalid(field,
                   absl::StrCat("the compile cannot be cached: ", normalized->uncacheable_reason));
  }
  if (normalized->arguments != material.options) {
    return Invalid(field, "not in canonical form; the client normalizes them");
  }
  const absl::Status allowed = CheckAllowedOptions(toolchain, material.options);
  return allowed.ok() ? absl::OkStatus() : Invalid(field, allowed.message());
}

}  // namespace

absl::StatusOr<Digest> DigestFromWire(absl::string_view bytes, absl::string_view field) {
  const absl::StatusOr<Digest> digest = Digest::FromBytes(bytes);
  if (!digest.ok()) return Invalid(field, absl::StrCat(bytes.size(), " bytes, not 32"));
  return *digest;
}

absl::StatusOr<Key> KeyFromWire(absl::string_view bytes, absl::string_view field) {
  const absl::StatusOr<Key> key = Key::FromBytes(bytes);
  if (!key.ok()) return Invalid(field, absl::StrCat(bytes.size(), " bytes, not 32"));
  return *key;
}

absl::StatusOr<Artifact> ArtifactFromWire(const v1::Artifact& artifact, absl::string_view field) {
  ASSIGN_OR_RETURN(const Digest digest,
                   DigestFromWire(artifact.digest(), absl::StrCat(field, ".digest")));
  return Artifact{digest, artifact.size()};
}

absl::Status CheckName(absl::string_view name, absl::string_view field, Empty empty) {
  RETURN_IF_ERROR(CheckSize(name, field, kMaxNameBytes));
  if (name.empty() && empty == Empty::kRefused) return Invalid(field, "empty");
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
  return control ? Invalid(field, "contains a control character") : absl::OkStatus();
}

absl::Status CheckPiece(absl::string_view piece, absl::string_view field) {
  if (piece.empty()) return Invalid(field, "empty");
  return CheckSize(piece, field, kPieceSize);
}

absl::Status CheckInlineLimit(uint32_t limit) {
  if (limit <= kMaxInlineArtifact) return absl::OkStatus();
  return Invalid("inline_limit", absl::StrCat(limit, ", the limit is ", kMaxInlineArtifact));
}

absl::Status CheckLogLine(absl::string_view line, absl::string_view field) {
  return CheckSize(line, field, kMaxLogLine);
}

absl::StatusOr<Toolchain> ToolchainFromWire(const v1::Toolchain& toolchain,
                                            absl::string_view field) {
  RETURN_IF_ERROR(CheckName(toolchain.name(), absl::StrCat(field, ".name"), Empty::kRefused));
  RETURN_IF_ERROR(CheckName(toolchain.version(), absl::StrCat(field, ".version"), Empty::kRefused));
  return Toolchain{toolchain.name(), toolchain.version()};
}

absl::StatusOr<KeyMaterial> MaterialFromWire(const v1::KeyMaterial& material,
                                             absl::string_view field) {
  KeyMaterial result;
  const std::string fingerprint = absl::StrCat(field, ".fingerprint");
  RETURN_IF_ERROR(
      CheckName(material.fingerprint().tag(), absl::StrCat(fingerprint, ".tag"), Empty::kRefused));
  result.fingerprint.tag = material.fingerprint().tag();
  // Nobody here could tell whether a graph has such a fingerprint.
  if (!IsKnownTag(result.fingerprint.tag)) {
    return Invalid(
        absl::StrCat(fingerprint, ".tag"),
        absl::StrCat("\"", absl::CEscape(result.fingerprint.tag), "\" is unknown to this daemon"));
  }
  ASSIGN_OR_RETURN(result.fingerprint.digest, DigestFromWire(material.fingerprint().digest(),
                                                             absl::StrCat(fingerprint, ".digest")));
  ASSIGN_OR_RETURN(result.toolchain,
                   ToolchainFromWire(material.toolchain(), absl::StrCat(field, ".toolchain")));

  const std::string options = absl::StrCat(field, ".options");
  size_t bytes = 0;
  for (const std::string& option : material.options()) {
    bytes += option.size() + 1;  // So that the number of empty ones is bounded too.
    if (option.find('\0') != std::string::npos) return Invalid(options, "contains a zero byte");
  }
  if (bytes > kMaxOptionsBytes) {
    return Invalid(options, absl::StrCat(bytes, " bytes, the limit is ", kMaxOptionsBytes));
  }
  result.options.assign(material.options().begin(), material.options().end());
  RETURN_IF_ERROR(CheckOptions(result, options));
  return result;
}

absl::StatusOr<GraphParts> PartsFromWire(const v1::GraphParts& wire, absl::string_view field) {
  if (static_cast<size_t>(wire.computations_size()) > kMaxPartComputations) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".computations: more than ", kMaxPartComputations));
  }
  GraphParts parts;
  ASSIGN_OR_RETURN(parts.signature,
                   DigestFromWire(wire.signature(), absl::StrCat(field, ".signature")));
  ASSIGN_OR_RETURN(parts.attributes,
                   DigestFromWire(wire.attributes(), absl::StrCat(field, ".attributes")));
  ASSIGN_OR_RETURN(parts.skeleton,
                   DigestFromWire(wire.skeleton(), absl::StrCat(field, ".skeleton")));
  for (const v1::ComputationPart& computation : wire.computations()) {
    ComputationPart& part = parts.computations.emplace_back();
    ASSIGN_OR_RETURN(part.content, DigestFromWire(computation.content(),
                                                  absl::StrCat(field, ".computations.content")));
    RETURN_IF_ERROR(
        CheckName(computation.name(), absl::StrCat(field, ".computations.name"), Empty::kAllowed));
    part.instructions = computation.instructions();
    part.name = computation.name();
  }
  return parts;
}

absl::StatusOr<Failure> FailureFromWire(const v1::Failure& failure, absl::string_view field) {
  RETURN_IF_ERROR(CheckSize(failure.message(), absl::StrCat(field, ".message"), kMaxMessage));
  RETURN_IF_ERROR(CheckSize(failure.log_tail(), absl::StrCat(field, ".log_tail"), kMaxLogTail));
  Failure result;
  const absl::optional<FailureClass> failure_class = FromMessage(failure.failure_class());
  if (!failure_class.has_value()) {
    return Invalid(absl::StrCat(field, ".failure_class"), "unknown");
  }
  result.failure_class = *failure_class;
  result.message = failure.message();
  result.exit_code = failure.exit_code();
  result.signal = failure.signal();
  result.log_tail = failure.log_tail();
  return result;
}

absl::Status UploadError(const absl::Status& status, absl::string_view field) {
  if (status.ok()) return status;
  const absl::StatusCode code =
      absl::IsDataLoss(status) ? absl::StatusCode::kInvalidArgument : status.code();
  return absl::Status(code, absl::StrCat(field, ": ", status.message()));
}

}  // namespace neffcache
