#include "server/rpc/stored_content.h"

#include <spdlog/spdlog.h>

#include <span>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

absl::string_view Name(ContentKind kind) {
  switch (kind) {
    case ContentKind::kArtifact:
      return "artifact";
    case ContentKind::kGraph:
      return "graph";
    case ContentKind::kLog:
      return "log";
  }
  return "content";
}

}  // namespace

absl::Status Damaged(Store& store, ContentKind kind, const Digest& digest, absl::string_view why) {
  const std::string message = absl::StrCat(Name(kind), " ", digest.Hex(), " is damaged: ", why);
  spdlog::error("event=damaged error=\"{}\"", message);
  if (kind == ContentKind::kArtifact) {
    const absl::Status quarantined = store.Quarantine(digest);
    if (!quarantined.ok() && !absl::IsNotFound(quarantined)) {
      spdlog::error("event=quarantine_failed artifact={} error=\"{}\"", digest.Hex(),
                    quarantined.ToString());
    }
  }
  return absl::DataLossError(message);
}

absl::StatusOr<ContentReader> OpenStored(Store& store, ContentKind kind, const Digest& digest) {
  absl::StatusOr<ContentReader> reader = store.OpenContent(kind, digest);
  // The store has quarantined it.
  if (absl::IsDataLoss(reader.status())) {
    spdlog::error("event=damaged error=\"{}\"", std::string(reader.status().message()));
  }
  return reader;
}

absl::StatusOr<std::string> ReadArtifact(Store& store, const Artifact& artifact) {
  ASSIGN_OR_RETURN(const ContentReader reader,
                   OpenStored(store, ContentKind::kArtifact, artifact.digest));
  if (reader.stored_size() != artifact.size) {
    return Damaged(store, ContentKind::kArtifact, artifact.digest,
                   absl::StrCat("it has ", reader.stored_size(), " bytes, not ", artifact.size));
  }
  if (!reader.in_memory().empty()) return std::string(reader.in_memory());
  std::string bytes(artifact.size, '\0');
  ASSIGN_OR_RETURN(const size_t size,
                   reader.ReadAt(0, std::span<char>(bytes.data(), bytes.size())));
  if (size != bytes.size()) {
    return Damaged(store, ContentKind::kArtifact, artifact.digest,
                   absl::StrCat("it ends at byte ", size, " of ", artifact.size));
  }
  return bytes;
}

}  // namespace neffcache
