#include "server/store/entry_codec.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "io/utf8.h"
#include "neffcache/v1/store.pb.h"
#include "server/store/key_material_proto.h"

namespace neffcache {
namespace {

v1::FailureClass ToProto(FailureClass failure_class) {
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

FailureClass FromProto(v1::FailureClass failure_class) {
  switch (failure_class) {
    case v1::FAILURE_CLASS_DETERMINISTIC:
      return FailureClass::kDeterministic;
    case v1::FAILURE_CLASS_MEMORY:
      return FailureClass::kMemory;
    case v1::FAILURE_CLASS_TRANSIENT:
      return FailureClass::kTransient;
    default:
      return FailureClass::kUnclear;
  }
}

void ToProto(const Failure& failure, v1::Failure& message) {
  message.set_failure_class(ToProto(failure.failure_class));
  message.set_message(ToUtf8(failure.message));
  message.set_exit_code(failure.exit_code);
  message.set_signal(failure.signal);
  message.set_log_tail(ToUtf8(failure.log_tail));
  message.set_failed_at_ms(absl::ToUnixMillis(failure.failed_at));
  if (failure.remembered_until > absl::UnixEpoch()) {
    message.set_remembered_until_ms(absl::ToUnixMillis(failure.remembered_until));
  }
  message.set_worker(ToUtf8(failure.worker));
  message.set_attempts(failure.attempts);
}

Failure FromProto(const v1::Failure& message) {
  Failure failure;
  failure.failure_class = FromProto(message.failure_class());
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

void ToProto(const Entry& entry, v1::EntryRecord& record) {
  v1::Entry& message = *record.mutable_entry();
  message.set_key(std::string(entry.key.bytes()));
  neffcache::ToProto(entry.material, *message.mutable_material());
  if (const Artifact* artifact = entry.ready()) {
    message.mutable_ready()->set_digest(std::string(artifact->digest.bytes()));
    message.mutable_ready()->set_size(artifact->size);
  } else if (const Failure* failure = entry.failed()) {
    ToProto(*failure, *message.mutable_failed());
  }
  message.set_created_at_ms(absl::ToUnixMillis(entry.created));
  message.set_compile_time_ms(absl::ToInt64Milliseconds(entry.compile_time));
  message.set_peak_memory_bytes(entry.peak_memory_bytes);
  message.set_graph_digest(OptionalBytes(entry.graph.digest));
  message.set_graph_size(entry.graph.size);
  message.set_graph_name(ToUtf8(entry.graph.name));
  message.set_instructions(entry.graph.instructions);
  message.set_log_digest(OptionalBytes(entry.log));
  message.set_worker(ToUtf8(entry.worker));
  record.set_fencing_token(entry.fencing_token);
}

absl::StatusOr<Entry> FromProto(const v1::EntryRecord& record) {
  const v1::Entry& message = record.entry();
  Entry entry;
  ASSIGN_OR_RETURN(entry.key, Key::FromBytes(message.key()));
  ASSIGN_OR_RETURN(entry.material, neffcache::FromProto(message.material()));
  switch (message.state_case()) {
    case v1::Entry::kReady: {
      Artifact artifact;
      ASSIGN_OR_RETURN(artifact.digest, Digest::FromBytes(message.ready().digest()));
      artifact.size = message.ready().size();
      entry.state = artifact;
      break;
    }
    case v1::Entry::kFailed:
      entry.state = FromProto(message.failed());
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
  entry.fencing_token = record.fencing_token();
  return entry;
}

// Whatever is wrong with bytes that the store itself wrote, it is damage.
absl::StatusOr<v1::EntryRecord> Parse(absl::string_view bytes) {
  v1::EntryRecord record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("decoding an entry: it is no EntryRecord");
  }
  return record;
}

absl::StatusOr<Entry> Decode(const v1::EntryRecord& record) {
  absl::StatusOr<Entry> entry = FromProto(record);
  if (entry.ok()) return entry;
  return absl::DataLossError(absl::StrCat("decoding an entry: ", entry.status().message()));
}

}  // namespace

absl::StatusOr<std::string> EncodeEntry(const Entry& entry) {
  RETURN_IF_ERROR(CheckEncodable(entry.material));
  v1::EntryRecord record;
  ToProto(entry, record);
  return record.SerializeAsString();
}

absl::StatusOr<Entry> DecodeEntry(absl::string_view record) {
  ASSIGN_OR_RETURN(const v1::EntryRecord parsed, Parse(record));
  return Decode(parsed);
}

absl::StatusOr<std::string> EncodeEntryFile(const Entry& entry,
                                            absl::Span<const std::string> bundles,
                                            absl::string_view inline_artifact) {
  RETURN_IF_ERROR(CheckEncodable(entry.material));
  v1::EntryRecord record;
  ToProto(entry, record);
  for (const std::string& bundle : bundles) record.add_bundles(bundle);
  record.set_inline_artifact(inline_artifact.data(), inline_artifact.size());
  return record.SerializeAsString();
}

absl::StatusOr<EntryFile> DecodeEntryFile(absl::string_view file) {
  ASSIGN_OR_RETURN(v1::EntryRecord record, Parse(file));
  EntryFile result;
  ASSIGN_OR_RETURN(result.entry, Decode(record));
  result.bundles.assign(record.bundles().begin(), record.bundles().end());
  const Artifact* artifact = result.entry.ready();
  if (!record.inline_artifact().empty() || (artifact != nullptr && artifact->size == 0)) {
    result.inline_artifact = std::move(*record.mutable_inline_artifact());
  }
  return result;
}

}  // namespace neffcache
