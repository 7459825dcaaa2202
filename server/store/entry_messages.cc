#include "server/store/entry_messages.h"

#include <cstdint>

#include "absl/time/time.h"
#include "io/status_macros.h"
#include "io/utf8.h"

namespace neffcache {
namespace {

// 0 for a time that is not set.
int64_t Millis(absl::Time time) {
  return time <= absl::UnixEpoch() ? 0 : absl::ToUnixMillis(time);
}

v1::FailureClass ToMessage(FailureClass failure_class) {
  switch (failure_class) {
    case FailureClass::kDeterministic:
      return v1::FAILURE_CLASS_DETERMINISTIC;
    case FailureClass::kMemory:
      return v1::FAILURE_CLASS_MEMORY;
    case FailureClass::kTransient:
      return v1::FAILURE_CLASS_TRANSIENT;
    case FailureClass::kUnclear:
      return v1::FAILURE_CLASS_UNCLEAR;
  }
  return v1::FAILURE_CLASS_UNSPECIFIED;
}

Failure FailureFrom(const v1::Failure& message) {
  Failure failure;
  failure.failure_class = FromMessage(message.failure_class()).value_or(FailureClass::kUnclear);
  failure.message = message.message();
  failure.exit_code = message.exit_code();
  failure.signal = message.signal();
  failure.log_tail = message.log_tail();
  failure.failed_at = absl::FromUnixMillis(message.failed_at_ms());
  if (message.remembered_until_ms() != 0) {
    failure.remembered_until = absl::FromUnixMillis(message.remembered_until_ms());
  }
  failure.worker = message.worker();
  failure.attempts = message.attempts();
  return failure;
}

}  // namespace

v1::Toolchain ToMessage(const Toolchain& toolchain) {
  v1::Toolchain message;
  message.set_name(toolchain.name);
  message.set_version(toolchain.version);
  return message;
}

v1::KeyMaterial ToMessage(const KeyMaterial& material) {
  v1::KeyMaterial message;
  message.mutable_fingerprint()->set_tag(material.fingerprint.tag);
  message.mutable_fingerprint()->set_digest(std::string(material.fingerprint.digest.bytes()));
  message.mutable_options()->Assign(material.options.begin(), material.options.end());
  *message.mutable_toolchain() = ToMessage(material.toolchain);
  return message;
}

v1::Artifact ToMessage(const Artifact& artifact) {
  v1::Artifact message;
  message.set_digest(std::string(artifact.digest.bytes()));
  message.set_size(artifact.size);
  return message;
}

v1::Failure ToMessage(const Failure& failure) {
  v1::Failure message;
  message.set_failure_class(ToMessage(failure.failure_class));
  message.set_message(ToUtf8(failure.message));
  message.set_exit_code(failure.exit_code);
  message.set_signal(failure.signal);
  message.set_log_tail(ToUtf8(failure.log_tail));
  message.set_failed_at_ms(Millis(failure.failed_at));
  message.set_remembered_until_ms(Millis(failure.remembered_until));
  message.set_worker(ToUtf8(failure.worker));
  message.set_attempts(failure.attempts);
  return message;
}

v1::Entry ToMessage(const Entry& entry) {
  v1::Entry message = ToMessageWithoutMaterial(entry);
  *message.mutable_material() = ToMessage(entry.material);
  return message;
}

v1::Entry ToMessageWithoutMaterial(const Entry& entry) {
  v1::Entry message;
  message.set_key(std::string(entry.key.bytes()));
  if (const Artifact* artifact = entry.ready()) *message.mutable_ready() = ToMessage(*artifact);
  if (const Failure* failure = entry.failed()) *message.mutable_failed() = ToMessage(*failure);
  message.set_created_at_ms(Millis(entry.created));
  message.set_compile_time_ms(absl::ToInt64Milliseconds(entry.compile_time));
  message.set_peak_memory_bytes(entry.peak_memory_bytes);
  message.set_graph_digest(OptionalBytes(entry.graph.digest));
  message.set_graph_size(entry.graph.size);
  message.set_graph_name(ToUtf8(entry.graph.name));
  message.set_instructions(entry.graph.instructions);
  message.set_log_digest(OptionalBytes(entry.log));
  message.set_worker(ToUtf8(entry.worker));
  return message;
}

absl::StatusOr<KeyMaterial> FromMessage(const v1::KeyMaterial& message) {
  KeyMaterial material;
  material.fingerprint.tag = message.fingerprint().tag();
  ASSIGN_OR_RETURN(material.fingerprint.digest, OptionalDigest(message.fingerprint().digest()));
  material.options.assign(message.options().begin(), message.options().end());
  material.toolchain.name = message.toolchain().name();
  material.toolchain.version = message.toolchain().version();
  return material;
}

absl::StatusOr<Entry> FromMessage(const v1::Entry& message) {
  Entry entry;
  ASSIGN_OR_RETURN(entry.key, Key::FromBytes(message.key()));
  ASSIGN_OR_RETURN(entry.material, FromMessage(message.material()));
  switch (message.state_case()) {
    case v1::Entry::kReady: {
      Artifact artifact;
      ASSIGN_OR_RETURN(artifact.digest, Digest::FromBytes(message.ready().digest()));
      artifact.size = message.ready().size();
      entry.state = artifact;
      break;
    }
    case v1::Entry::kFailed:
      entry.state = FailureFrom(message.failed());
      break;
    case v1::Entry::STATE_NOT_SET:
      return absl::DataLossError("it is neither ready nor failed");
  }
  entry.created = absl::FromUnixMillis(message.created_at_ms());
  entry.compile_time = absl::Milliseconds(message.compile_time_ms());
  entry.peak_memory_bytes = message.peak_memory_bytes();
  ASSIGN_OR_RETURN(entry.graph.digest, OptionalDigest(message.graph_digest()));
  entry.graph.size = message.graph_size();
  entry.graph.name = message.graph_name();
  entry.graph.instructions = message.instructions();
  ASSIGN_OR_RETURN(entry.log, OptionalDigest(message.log_digest()));
  entry.worker = message.worker();
  return entry;
}

absl::optional<FailureClass> FromMessage(v1::FailureClass failure_class) {
  switch (failure_class) {
    case v1::FAILURE_CLASS_DETERMINISTIC:
      return FailureClass::kDeterministic;
    case v1::FAILURE_CLASS_MEMORY:
      return FailureClass::kMemory;
    case v1::FAILURE_CLASS_TRANSIENT:
      return FailureClass::kTransient;
    case v1::FAILURE_CLASS_UNCLEAR:
      return FailureClass::kUnclear;
    default:
      return absl::nullopt;
  }
}

absl::StatusOr<Digest> OptionalDigest(absl::string_view bytes) {
  if (bytes.empty()) return Digest();
  absl::StatusOr<Digest> digest = Digest::FromBytes(bytes);
  if (!digest.ok()) return absl::DataLossError(digest.status().message());
  return digest;
}

std::string OptionalBytes(const Digest& digest) {
  return digest.empty() ? std::string() : std::string(digest.bytes());
}

absl::Status CheckEncodable(const KeyMaterial& material) {
  bool valid = IsUtf8(material.fingerprint.tag) && IsUtf8(material.toolchain.name) &&
               IsUtf8(material.toolchain.version);
  for (const std::string& option : material.options) valid = valid && IsUtf8(option);
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError("an option or the toolchain's name is not UTF-8");
}

}  // namespace neffcache
