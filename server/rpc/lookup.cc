#include "server/rpc/lookup.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "server/rpc/from_wire.h"
#include "server/rpc/stored_content.h"
#include "server/store/entry_messages.h"

namespace neffcache {
namespace {

// Leaves a quarter of the message limit for framing and growth of the format.
constexpr size_t kAnswerBudget = size_t{3} << 20;
// More than the largest result that a brief entry gives, so that all of them fit.
constexpr size_t kBriefResultBytes = 160;
static_assert(kMaxLookupKeys * kBriefResultBytes < kAnswerBudget);
// Who asks for more keys at once gets no details of ready entries, and most are answered from
// memory.
constexpr size_t kMostKeysWithDetails = 256;

// What is known of the keys of a request: for each key at most one of both.
struct Found {
  std::vector<absl::optional<ReadyState>> ready;  // Of ready entries without details.
  std::vector<absl::optional<Entry>> entries;

  const Artifact* artifact(size_t i) const {
    if (ready[i].has_value()) return &ready[i]->artifact;
    return entries[i].has_value() ? entries[i]->ready() : nullptr;
  }
  absl::Duration compile_time(size_t i) const {
    return ready[i].has_value() ? ready[i]->compile_time : entries[i]->compile_time;
  }
  bool nothing(size_t i) const { return !ready[i].has_value() && !entries[i].has_value(); }
};

absl::StatusOr<Found> Find(const Store& store, const std::vector<Key>& keys) {
  Found found;
  if (keys.size() <= kMostKeysWithDetails) {
    found.ready.resize(keys.size());
    ASSIGN_OR_RETURN(found.entries, store.Find(keys));
    return found;
  }
  found.ready = store.FindReadyInMemory(keys);
  found.entries.resize(keys.size());
  std::vector<Key> unread;
  std::vector<size_t> places;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (found.ready[i].has_value()) continue;
    unread.push_back(keys[i]);
    places.push_back(i);
  }
  ASSIGN_OR_RETURN(std::vector<absl::optional<Entry>> read, store.Find(unread));
  for (size_t i = 0; i < unread.size(); ++i) found.entries[places[i]] = std::move(read[i]);
  return found;
}

// What every key's result has: enough to fetch the artifact.
void FillBrief(const Key& key, const ReadyState& state, v1::Entry& brief) {
  brief.set_key(key.bytes().data(), Key::kSize);
  v1::Artifact& artifact = *brief.mutable_ready();
  artifact.set_digest(state.artifact.digest.bytes().data(), Digest::kSize);
  artifact.set_size(state.artifact.size);
  brief.set_created_at_ms(absl::ToUnixMillis(state.created));
  brief.set_compile_time_ms(absl::ToInt64Milliseconds(state.compile_time));
}

v1::Entry BriefFailure(const v1::Entry& full) {
  v1::Entry brief;
  brief.set_key(full.key());
  brief.mutable_failed()->set_failure_class(full.failed().failure_class());
  brief.mutable_failed()->set_exit_code(full.failed().exit_code());
  brief.mutable_failed()->set_signal(full.failed().signal());
  brief.set_created_at_ms(full.created_at_ms());
  brief.set_compile_time_ms(full.compile_time_ms());
  return brief;
}

absl::StatusOr<std::vector<Key>> KeysOf(const v1::LookupRequest& request) {
  if (static_cast<size_t>(request.keys_size()) > kMaxLookupKeys) {
    return absl::InvalidArgumentError(
        absl::StrCat("keys: ", request.keys_size(), " keys, the limit is ", kMaxLookupKeys));
  }
  std::vector<Key> keys;
  keys.reserve(request.keys_size());
  for (const std::string& bytes : request.keys()) {
    ASSIGN_OR_RETURN(const Key key, KeyFromWire(bytes, absl::StrCat("keys[", keys.size(), "]")));
    keys.push_back(key);
  }
  return keys;
}

void FillEntry(const Entry& entry, bool details, size_t& used, v1::Entry& message) {
  const Artifact* artifact = entry.ready();
  if (artifact != nullptr && !details) {
    return FillBrief(entry.key, {*artifact, entry.created, entry.compile_time}, message);
  }
  v1::Entry full = ToMessageWithoutMaterial(entry);
  if (const size_t bytes = full.ByteSizeLong(); used + bytes <= kAnswerBudget) {
    used += bytes;
    message = std::move(full);
  } else if (artifact != nullptr) {
    FillBrief(entry.key, {*artifact, entry.created, entry.compile_time}, message);
  } else {
    message = BriefFailure(full);
  }
}

void FillEntries(const std::vector<Key>& keys, const Found& found, size_t& used,
                 v1::LookupResponse& response) {
  const bool details = keys.size() <= kMostKeysWithDetails;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (found.nothing(i)) continue;
    v1::LookupResult& result = *response.mutable_results(static_cast<int>(i));
    result.set_state(found.artifact(i) != nullptr ? v1::LookupResult::STATE_READY
                                                  : v1::LookupResult::STATE_FAILED);
    if (found.ready[i].has_value()) {
      FillBrief(keys[i], *found.ready[i], *result.mutable_entry());
    } else {
      FillEntry(*found.entries[i], details, used, *result.mutable_entry());
    }
  }
}

// Small artifacts, until the message is full.
void FillArtifacts(ServiceContext& context, const Found& found, uint32_t inline_limit, size_t& used,
                   v1::LookupResponse& response) {
  for (int i = 0; i < response.results_size(); ++i) {
    const Artifact* artifact = found.artifact(i);
    if (artifact == nullptr || artifact->size > inline_limit) continue;
    if (used + artifact->size > kAnswerBudget) continue;
    v1::LookupResult& result = *response.mutable_results(i);
    absl::StatusOr<std::string> bytes = ReadArtifact(context.store, *artifact);
    if (bytes.ok()) {
      used += bytes->size();
      result.set_inline_artifact(*std::move(bytes));
    } else if (absl::IsDataLoss(bytes.status())) {
      // Quarantined by now: nothing is known of the key any more.
      result.Clear();
      result.set_state(v1::LookupResult::STATE_ABSENT);
    }
    // On any other trouble the client fetches it, and is told there.
  }
}

void CountResults(ServiceContext& context, const std::vector<Key>& keys, const Found& found,
                  const v1::LookupResponse& response) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const v1::LookupResult& result = response.results(static_cast<int>(i));
    if (result.state() != v1::LookupResult::STATE_READY) continue;
    context.store.NoteUse(keys[i]);
    if (result.inline_artifact().empty()) continue;  // Only its state was told.
    context.counters.CountLookup();
    context.counters.CountHit(found.compile_time(i));
    context.counters.CountServed(result.inline_artifact().size());
  }
}

}  // namespace

absl::Status Lookup(ServiceContext& context, const v1::LookupRequest& request,
                    v1::LookupResponse& response) {
  RETURN_IF_ERROR(CheckInlineLimit(request.inline_limit()));
  RETURN_IF_ERROR(CheckName(request.bundle(), "bundle", Empty::kAllowed));
  ASSIGN_OR_RETURN(const std::vector<Key> keys, KeysOf(request));
  ASSIGN_OR_RETURN(const Found found, Find(context.store, keys));

  std::vector<Key> missing;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (found.nothing(i)) missing.push_back(keys[i]);
  }
  const std::vector<bool> compiling = context.dispatcher.AreInFlight(missing);

  response.mutable_results()->Reserve(static_cast<int>(keys.size()));
  size_t asked = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    v1::LookupResult& result = *response.add_results();
    // Of a key that has an entry, FillEntries says more.
    result.set_state(found.nothing(i) && compiling[asked++] ? v1::LookupResult::STATE_COMPILING
                                                            : v1::LookupResult::STATE_ABSENT);
  }
  size_t used = keys.size() * kBriefResultBytes;
  FillEntries(keys, found, used, response);
  if (!request.state_only()) {
    if (request.inline_limit() > 0) {
      FillArtifacts(context, found, request.inline_limit(), used, response);
    }
    CountResults(context, keys, found, response);
  }

  if (!request.bundle().empty() && !keys.empty()) {
    // A bundle that cannot be written (a full disk) does not take the answer away.
    const absl::Status recorded = context.store.RecordInBundle(request.bundle(), keys);
    if (!recorded.ok()) {
      spdlog::warn("event=bundle_not_recorded bundle=\"{}\" error=\"{}\"", request.bundle(),
                   recorded.ToString());
    }
  }
  return absl::OkStatus();
}

}  // namespace neffcache
