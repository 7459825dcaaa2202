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
// More than the largest result that BriefEntry gives, so that all of them fit.
constexpr size_t kBriefResultBytes = 160;
static_assert(kMaxLookupKeys * kBriefResultBytes < kAnswerBudget);

// What every key's result has: enough to fetch the artifact.
v1::Entry BriefEntry(const v1::Entry& full) {
  v1::Entry brief;
  brief.set_key(full.key());
  if (full.has_ready()) *brief.mutable_ready() = full.ready();
  if (full.has_failed()) {
    brief.mutable_failed()->set_failure_class(full.failed().failure_class());
    brief.mutable_failed()->set_exit_code(full.failed().exit_code());
    brief.mutable_failed()->set_signal(full.failed().signal());
  }
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

void FillEntries(const std::vector<absl::optional<Entry>>& entries, size_t& used,
                 v1::LookupResponse& response) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].has_value()) continue;
    v1::LookupResult& result = *response.mutable_results(static_cast<int>(i));
    result.set_state(entries[i]->ready() != nullptr ? v1::LookupResult::STATE_READY
                                                    : v1::LookupResult::STATE_FAILED);
    v1::Entry full = ToMessageWithoutMaterial(*entries[i]);
    if (const size_t bytes = full.ByteSizeLong(); used + bytes <= kAnswerBudget) {
      used += bytes;
      *result.mutable_entry() = std::move(full);
    } else {
      *result.mutable_entry() = BriefEntry(full);
    }
  }
}

// Small artifacts, until the message is full.
void FillArtifacts(ServiceContext& context, const std::vector<absl::optional<Entry>>& entries,
                   uint32_t inline_limit, size_t& used, v1::LookupResponse& response) {
  for (size_t i = 0; i < entries.size(); ++i) {
    const Artifact* artifact = entries[i].has_value() ? entries[i]->ready() : nullptr;
    if (artifact == nullptr || artifact->size > inline_limit) continue;
    if (used + artifact->size > kAnswerBudget) continue;
    v1::LookupResult& result = *response.mutable_results(static_cast<int>(i));
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

void CountResults(ServiceContext& context, const std::vector<Key>& keys,
                  const std::vector<absl::optional<Entry>>& entries,
                  const v1::LookupResponse& response) {
  context.counters.CountLookups(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const v1::LookupResult& result = response.results(static_cast<int>(i));
    if (result.state() != v1::LookupResult::STATE_READY) continue;
    context.counters.CountHit(entries[i]->compile_time);
    context.counters.CountServed(result.inline_artifact().size());
    context.store.NoteUse(keys[i]);
  }
}

}  // namespace

absl::Status Lookup(ServiceContext& context, const v1::LookupRequest& request,
                    v1::LookupResponse& response) {
  RETURN_IF_ERROR(CheckInlineLimit(request.inline_limit()));
  RETURN_IF_ERROR(CheckName(request.bundle(), "bundle", Empty::kAllowed));
  ASSIGN_OR_RETURN(const std::vector<Key> keys, KeysOf(request));
  ASSIGN_OR_RETURN(const std::vector<absl::optional<Entry>> entries, context.store.Find(keys));

  std::vector<Key> missing;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!entries[i].has_value()) missing.push_back(keys[i]);
  }
  const std::vector<bool> compiling = context.dispatcher.AreInFlight(missing);

  response.mutable_results()->Reserve(static_cast<int>(keys.size()));
  size_t asked = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    v1::LookupResult& result = *response.add_results();
    // Of a key that has an entry, FillEntries says more.
    result.set_state(!entries[i].has_value() && compiling[asked++]
                         ? v1::LookupResult::STATE_COMPILING
                         : v1::LookupResult::STATE_ABSENT);
  }
  size_t used = keys.size() * kBriefResultBytes;
  FillEntries(entries, used, response);
  if (!request.state_only()) {
    if (request.inline_limit() > 0) {
      FillArtifacts(context, entries, request.inline_limit(), used, response);
    }
    CountResults(context, keys, entries, response);
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
