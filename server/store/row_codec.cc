#include "server/store/row_codec.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "io/utf8.h"
#include "neffcache/v1/store.pb.h"
#include "server/store/entry_messages.h"

namespace neffcache {
namespace {

template <typename Message>
absl::StatusOr<Message> Parse(absl::string_view bytes) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message;
  return absl::DataLossError(absl::StrCat("decoding a row: it is no ", message.GetTypeName()));
}

// Written as numbers, which are part of the format.
int32_t ToNumber(Purpose purpose) {
  switch (purpose) {
    case Purpose::kTrainer:
      return 1;
    case Purpose::kPrecompile:
      return 2;
    case Purpose::kRebuild:
      return 3;
  }
  return 0;
}

Purpose ToPurpose(int32_t number) {
  if (number == 1) return Purpose::kTrainer;
  return number == 3 ? Purpose::kRebuild : Purpose::kPrecompile;
}

}  // namespace

std::string EncodeArtifactRow(const ArtifactRow& row) {
  v1::ArtifactRecord message;
  message.set_size(row.size);
  message.set_inline_(row.is_inline);
  message.set_stored_at_ms(absl::ToUnixMillis(row.stored));
  message.set_damaged(row.damaged);
  return message.SerializeAsString();
}

absl::StatusOr<ArtifactRow> DecodeArtifactRow(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const auto message, Parse<v1::ArtifactRecord>(bytes));
  ArtifactRow row;
  row.size = message.size();
  row.is_inline = message.inline_();
  row.stored = absl::FromUnixMillis(message.stored_at_ms());
  row.damaged = message.damaged();
  return row;
}

std::string EncodeGraphRecord(const GraphRecord& graph) {
  v1::GraphRecord message;
  message.set_digest(OptionalBytes(graph.digest));
  message.set_size(graph.size);
  message.set_name(ToUtf8(graph.name));
  message.set_instructions(graph.instructions);
  return message.SerializeAsString();
}

absl::StatusOr<GraphRecord> DecodeGraphRecord(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const auto message, Parse<v1::GraphRecord>(bytes));
  GraphRecord graph;
  ASSIGN_OR_RETURN(graph.digest, OptionalDigest(message.digest()));
  graph.size = message.size();
  graph.name = message.name();
  graph.instructions = message.instructions();
  return graph;
}

absl::StatusOr<std::string> EncodeQueued(const QueuedCompile& compile) {
  RETURN_IF_ERROR(CheckEncodable(compile.material));
  v1::QueuedCompile message;
  *message.mutable_material() = ToMessage(compile.material);
  message.set_graph_digest(OptionalBytes(compile.graph.digest));
  message.set_graph_size(compile.graph.size);
  message.set_graph_name(ToUtf8(compile.graph.name));
  message.set_instructions(compile.graph.instructions);
  message.set_purpose(ToNumber(compile.purpose));
  message.set_queued_at_ms(absl::ToUnixMillis(compile.queued));
  message.set_attempts(compile.attempts);
  return message.SerializeAsString();
}

absl::StatusOr<QueuedCompile> DecodeQueued(const Key& key, absl::string_view bytes) {
  ASSIGN_OR_RETURN(const auto message, Parse<v1::QueuedCompile>(bytes));
  QueuedCompile compile;
  compile.key = key;
  ASSIGN_OR_RETURN(compile.material, FromMessage(message.material()));
  ASSIGN_OR_RETURN(compile.graph.digest, OptionalDigest(message.graph_digest()));
  compile.graph.size = message.graph_size();
  compile.graph.name = message.graph_name();
  compile.graph.instructions = message.instructions();
  compile.purpose = ToPurpose(message.purpose());
  compile.queued = absl::FromUnixMillis(message.queued_at_ms());
  compile.attempts = message.attempts();
  return compile;
}

std::string EncodeBundleTimes(const BundleTimes& times) {
  v1::BundleRecord message;
  message.set_first_seen_ms(absl::ToUnixMillis(times.first_seen));
  message.set_last_seen_ms(absl::ToUnixMillis(times.last_seen));
  return message.SerializeAsString();
}

absl::StatusOr<BundleTimes> DecodeBundleTimes(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const auto message, Parse<v1::BundleRecord>(bytes));
  return BundleTimes{absl::FromUnixMillis(message.first_seen_ms()),
                     absl::FromUnixMillis(message.last_seen_ms())};
}

std::string EncodeUse(const KeyUse& use) {
  v1::UsageRecord message;
  message.set_last_used_ms(absl::ToUnixMillis(use.last_used));
  message.set_hits(use.hits);
  return message.SerializeAsString();
}

absl::StatusOr<KeyUse> DecodeUse(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const auto message, Parse<v1::UsageRecord>(bytes));
  return KeyUse{absl::FromUnixMillis(message.last_used_ms()), message.hits()};
}

}  // namespace neffcache
