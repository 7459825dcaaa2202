#include "server/store/near_codec.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "io/utf8.h"
#include "neffcache/v1/store.pb.h"
#include "server/store/entry_messages.h"

namespace neffcache {
namespace {

// Half a SHA-256 tells parts apart, and a false candidate would only be compared for nothing.
constexpr size_t kDigestBytes = 16;

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("decoding a row: it is no ", what));
}

}  // namespace

std::string PartsRow(const Key& key) {
  return absl::StrCat("P", key.bytes());
}

std::string NearPrefix(NearBy by, const Digest& digest) {
  return absl::StrCat(std::string(1, static_cast<char>(by)),
                      digest.bytes().substr(0, kDigestBytes));
}

std::string NearRow(absl::string_view prefix, absl::Time indexed, const Key& key) {
  const uint64_t inverted =
      ~static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixMillis(indexed)));
  std::string row(prefix);
  for (int shift = 56; shift >= 0; shift -= 8) row.push_back(static_cast<char>(inverted >> shift));
  absl::StrAppend(&row, key.bytes());
  return row;
}

v1::GraphParts ToMessage(const GraphParts& parts) {
  v1::GraphParts message;
  message.set_signature(std::string(parts.signature.bytes()));
  message.set_attributes(std::string(parts.attributes.bytes()));
  message.set_skeleton(std::string(parts.skeleton.bytes()));
  for (const ComputationPart& part : parts.computations) {
    v1::ComputationPart& computation = *message.add_computations();
    computation.set_content(std::string(part.content.bytes()));
    computation.set_instructions(part.instructions);
    computation.set_name(ToUtf8(part.name));
  }
  return message;
}

absl::StatusOr<GraphParts> FromMessage(const v1::GraphParts& message) {
  GraphParts parts;
  ASSIGN_OR_RETURN(parts.signature, OptionalDigest(message.signature()));
  ASSIGN_OR_RETURN(parts.attributes, OptionalDigest(message.attributes()));
  ASSIGN_OR_RETURN(parts.skeleton, OptionalDigest(message.skeleton()));
  parts.computations.reserve(static_cast<size_t>(message.computations_size()));
  for (const v1::ComputationPart& computation : message.computations()) {
    ComputationPart& part = parts.computations.emplace_back();
    ASSIGN_OR_RETURN(part.content, OptionalDigest(computation.content()));
    part.instructions = computation.instructions();
    part.name = computation.name();
  }
  return parts;
}

std::string EncodeKeptParts(const KeptParts& kept) {
  v1::PartsRecord record;
  if (kept.parts.has_value()) *record.mutable_parts() = ToMessage(*kept.parts);
  record.set_indexed_at_ms(absl::ToUnixMillis(kept.indexed));
  record.set_graph_name(kept.graph_name);
  record.set_fingerprint(std::string(kept.fingerprint.bytes()));
  return record.SerializeAsString();
}

absl::StatusOr<KeptParts> DecodeKeptParts(absl::string_view bytes) {
  v1::PartsRecord record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Damaged("PartsRecord");
  }
  KeptParts kept;
  ASSIGN_OR_RETURN(kept.fingerprint, OptionalDigest(record.fingerprint()));
  kept.graph_name = record.graph_name();
  kept.indexed = absl::FromUnixMillis(record.indexed_at_ms());
  if (record.has_parts()) {
    ASSIGN_OR_RETURN(kept.parts, FromMessage(record.parts()));
  }
  return kept;
}

v1::Miss ToMessage(const Miss& miss) {
  v1::Miss message;
  message.set_explanation(ToUtf8(miss.explanation));
  if (!miss.nearest.empty()) message.set_nearest_key(std::string(miss.nearest.bytes()));
  message.set_explained_at_ms(absl::ToUnixMillis(miss.explained));
  return message;
}

std::string EncodeMiss(const Miss& miss) {
  return ToMessage(miss).SerializeAsString();
}

absl::StatusOr<Miss> DecodeMiss(absl::string_view bytes) {
  v1::Miss message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Damaged("Miss");
  }
  Miss miss;
  miss.explanation = message.explanation();
  if (!message.nearest_key().empty()) {
    absl::StatusOr<Key> nearest = Key::FromBytes(message.nearest_key());
    if (!nearest.ok()) return Damaged("Miss");
    miss.nearest = *nearest;
  }
  miss.explained = absl::FromUnixMillis(message.explained_at_ms());
  return miss;
}

}  // namespace neffcache
