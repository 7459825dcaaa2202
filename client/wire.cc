#include "client/wire.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "io/digest.h"
#include "io/status_macros.h"
#include "io/utf8.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

absl::StatusOr<Digest> DigestFrom(absl::string_view bytes) {
  absl::StatusOr<Digest> digest = Digest::FromBytes(bytes);
  if (digest.ok()) return digest;
  return absl::InternalError(
      absl::StrCat("the daemon names a part by ", bytes.size(), " bytes instead of 32"));
}

}  // namespace

v1::KeyMaterial ToProto(const KeyMaterial& material) {
  v1::KeyMaterial proto;
  proto.mutable_fingerprint()->set_tag(material.fingerprint.tag);
  const absl::string_view digest = material.fingerprint.digest.bytes();
  proto.mutable_fingerprint()->set_digest(digest.data(), digest.size());
  for (const std::string& option : material.options) proto.add_options(option);
  proto.mutable_toolchain()->set_name(material.toolchain.name);
  proto.mutable_toolchain()->set_version(material.toolchain.version);
  return proto;
}

v1::GraphParts ToProto(const GraphParts& parts) {
  v1::GraphParts proto;
  proto.set_signature(std::string(parts.signature.bytes()));
  proto.set_attributes(std::string(parts.attributes.bytes()));
  proto.set_skeleton(std::string(parts.skeleton.bytes()));
  for (const ComputationPart& part : parts.computations) {
    v1::ComputationPart& computation = *proto.add_computations();
    computation.set_content(std::string(part.content.bytes()));
    computation.set_instructions(part.instructions);
    computation.set_name(ToUtf8(part.name));
  }
  return proto;
}

absl::StatusOr<KeyMaterial> MaterialFrom(const v1::KeyMaterial& material) {
  KeyMaterial result;
  ASSIGN_OR_RETURN(result.fingerprint.digest, DigestFrom(material.fingerprint().digest()));
  result.fingerprint.tag = material.fingerprint().tag();
  result.options.assign(material.options().begin(), material.options().end());
  result.toolchain = {material.toolchain().name(), material.toolchain().version()};
  return result;
}

absl::StatusOr<GraphParts> PartsFrom(const v1::GraphParts& parts) {
  GraphParts result;
  ASSIGN_OR_RETURN(result.signature, DigestFrom(parts.signature()));
  ASSIGN_OR_RETURN(result.attributes, DigestFrom(parts.attributes()));
  ASSIGN_OR_RETURN(result.skeleton, DigestFrom(parts.skeleton()));
  for (const v1::ComputationPart& computation : parts.computations()) {
    ComputationPart& part = result.computations.emplace_back();
    ASSIGN_OR_RETURN(part.content, DigestFrom(computation.content()));
    part.instructions = computation.instructions();
    part.name = computation.name();
  }
  return result;
}

v1::Purpose ToProto(CompilePurpose purpose) {
  switch (purpose) {
    case CompilePurpose::kTrainer:
      return v1::PURPOSE_TRAINER;
    case CompilePurpose::kPrecompile:
      return v1::PURPOSE_PRECOMPILE;
    case CompilePurpose::kRebuild:
      return v1::PURPOSE_REBUILD;
  }
  return v1::PURPOSE_UNSPECIFIED;
}

absl::string_view FailureClassName(v1::FailureClass failure_class) {
  switch (failure_class) {
    case v1::FAILURE_CLASS_DETERMINISTIC:
      return "deterministic";
    case v1::FAILURE_CLASS_MEMORY:
      return "memory";
    case v1::FAILURE_CLASS_TRANSIENT:
      return "transient";
    default:
      return "unclear";
  }
}

CompileFailure FailureFrom(const v1::Failure& failure) {
  CompileFailure result;
  result.failure_class = std::string(FailureClassName(failure.failure_class()));
  result.message = failure.message();
  result.exit_code = failure.exit_code();
  result.signal = failure.signal();
  result.log_tail = failure.log_tail();
  // A cut is made at a character: up to three bytes less.
  result.log_is_cut = failure.log_tail().size() + 3 >= kMaxLogTail;
  result.worker = failure.worker();
  result.attempts = failure.attempts();
  result.remembered = failure.remembered_until_ms() != 0;
  return result;
}

absl::StatusOr<ArtifactName> ArtifactFrom(const v1::Artifact& artifact) {
  absl::StatusOr<Digest> digest = Digest::FromBytes(artifact.digest());
  if (!digest.ok()) {
    return absl::InternalError(absl::StrCat("the daemon names an artifact by ",
                                            artifact.digest().size(), " bytes instead of 32"));
  }
  return ArtifactName{digest->Hex(), artifact.size()};
}

absl::optional<std::string> VerifiedInline(const std::string& bytes, const ArtifactName& artifact) {
  if (bytes.empty() || bytes.size() != artifact.size || Sha256Of(bytes).Hex() != artifact.digest) {
    return absl::nullopt;
  }
  return bytes;
}

absl::StatusOr<KeyState> KeyStateFrom(const v1::Entry& entry, const Key& key) {
  if (absl::string_view(entry.key()) != key.bytes()) {
    return absl::InternalError(
        absl::StrCat("the daemon answered for another key than ", key.Hex()));
  }
  KeyState state;
  state.compile_time = absl::Milliseconds(entry.compile_time_ms());
  if (!entry.log_digest().empty()) {
    ASSIGN_OR_RETURN(const Digest log, Digest::FromBytes(entry.log_digest()));
    state.log_digest = log.Hex();
  }
  if (entry.has_ready()) {
    state.state = KeyState::State::kReady;
    ASSIGN_OR_RETURN(state.artifact, ArtifactFrom(entry.ready()));
  } else if (entry.has_failed()) {
    state.state = KeyState::State::kFailed;
    state.failure = FailureFrom(entry.failed());
  }
  return state;
}

absl::StatusOr<KeyState> KeyStateFrom(const v1::LookupResult& result, const Key& key) {
  KeyState state;
  switch (result.state()) {
    case v1::LookupResult::STATE_READY:
    case v1::LookupResult::STATE_FAILED: {
      ASSIGN_OR_RETURN(state, KeyStateFrom(result.entry(), key));
      const bool ready = result.state() == v1::LookupResult::STATE_READY;
      if (state.state != (ready ? KeyState::State::kReady : KeyState::State::kFailed)) {
        return absl::InternalError(
            absl::StrCat("the daemon's answer for key ", key.Hex(), " contradicts itself"));
      }
      if (ready) state.inline_artifact = VerifiedInline(result.inline_artifact(), state.artifact);
      return state;
    }
    case v1::LookupResult::STATE_COMPILING:
      state.state = KeyState::State::kCompiling;
      return state;
    default:
      return state;
  }
}

absl::StatusOr<CompileOutcome> OutcomeFrom(const v1::Ready& ready, const Key& key) {
  ASSIGN_OR_RETURN(KeyState state, KeyStateFrom(ready.entry(), key));
  if (state.state != KeyState::State::kReady) {
    return absl::InternalError(
        absl::StrCat("the daemon's answer for key ", key.Hex(), " names no artifact"));
  }
  CompileOutcome outcome;
  outcome.key = key.Hex();
  outcome.inline_artifact = VerifiedInline(ready.inline_artifact(), state.artifact);
  outcome.artifact = std::move(state.artifact);
  outcome.compiled = ready.compiled();
  outcome.compile_time = state.compile_time;
  return outcome;
}

}  // namespace neffcache
