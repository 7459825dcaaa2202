#include "server/rpc/admin_queries.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "server/rpc/from_wire.h"
#include "server/rpc/to_wire.h"
#include "server/store/entry_messages.h"
#include "server/store/near_codec.h"

#ifndef NEFFCACHE_VERSION
#error "the build defines NEFFCACHE_VERSION"
#endif

namespace neffcache {
namespace {

// A list in one message stops here, well below the limit of 4 MiB.
constexpr size_t kListBudget = size_t{3} << 20;
constexpr size_t kMaxCompiles = 10'000;

}  // namespace

absl::Status ResolveKey(ServiceContext& context, const v1::ResolveKeyRequest& request,
                        v1::ResolveKeyResponse& response) {
  const std::string prefix = absl::AsciiStrToLower(request.prefix());
  const bool hex = std::all_of(prefix.begin(), prefix.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
  if (prefix.size() < 8 || prefix.size() > 64 || !hex) {
    return absl::InvalidArgumentError("prefix: must be 8 to 64 hex digits");
  }
  // A key may be in the store, in flight, or both.
  std::set<Key> keys;
  const absl::StatusOr<Key> stored = context.store.ResolvePrefix(prefix);
  if (stored.ok()) {
    keys.insert(*stored);
  } else if (!absl::IsNotFound(stored.status())) {
    return stored.status();
  }
  for (const Key& key : context.dispatcher.KeysInFlight()) {
    if (absl::StartsWith(key.Hex(), prefix)) keys.insert(key);
  }
  if (keys.empty()) {
    return absl::NotFoundError(absl::StrCat("no key begins with ", prefix));
  }
  if (keys.size() > 1) {
    return absl::FailedPreconditionError(absl::StrCat("several keys begin with ", prefix, ": ",
                                                      keys.begin()->Hex(), ", ",
                                                      std::next(keys.begin())->Hex()));
  }
  response.set_key(std::string(keys.begin()->bytes()));
  return absl::OkStatus();
}

absl::Status ListCompiles(ServiceContext& context, v1::ListCompilesResponse& response) {
  std::vector<CompileView> views = context.dispatcher.ListCompiles();
  if (views.size() > kMaxCompiles) views.resize(kMaxCompiles);
  std::vector<Key> keys;
  keys.reserve(views.size());
  for (const CompileView& view : views) keys.push_back(view.key);
  const std::vector<absl::optional<Miss>> misses = context.store.FindMisses(keys);
  size_t used = 0;
  for (size_t i = 0; i < views.size(); ++i) {
    v1::Compile wire = ToWire(views[i]);
    if (misses[i].has_value()) *wire.mutable_miss() = ToMessage(*misses[i]);
    used += wire.ByteSizeLong() + 8;
    if (used > kListBudget) break;
    *response.add_compiles() = std::move(wire);
  }
  return absl::OkStatus();
}

absl::Status ListWorkers(ServiceContext& context, v1::ListWorkersResponse& response) {
  size_t used = 0;
  for (const WorkerView& view : context.dispatcher.ListWorkers()) {
    v1::Worker wire = ToWire(view);
    used += wire.ByteSizeLong() + 8;
    if (used > kListBudget) break;
    *response.add_workers() = std::move(wire);
  }
  return absl::OkStatus();
}

absl::Status ShowKey(ServiceContext& context, const v1::ShowKeyRequest& request,
                     v1::ShowKeyResponse& response) {
  ASSIGN_OR_RETURN(const Key key, KeyFromWire(request.key(), "key"));
  const absl::StatusOr<Entry> entry = context.store.Find(key);
  if (entry.ok()) {
    *response.mutable_entry() = ToMessage(*entry);
  } else if (!absl::IsNotFound(entry.status())) {
    return entry.status();
  }
  const absl::optional<CompileView> compile = context.dispatcher.FindCompile(key);
  if (compile.has_value()) *response.mutable_compile() = ToWire(*compile);
  const absl::StatusOr<Miss> miss = context.store.FindMiss(key);
  // Beside a compile or an entry: alone it is of one that left nothing.
  if (miss.ok() && (entry.ok() || compile.has_value())) {
    *response.mutable_miss() = ToMessage(*miss);
    if (compile.has_value()) *response.mutable_compile()->mutable_miss() = ToMessage(*miss);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> bundles, context.store.BundlesOf(key));
  size_t used = 0;
  for (const std::string& bundle : bundles) {
    used += bundle.size() + 8;
    if (used > kListBudget) break;
    response.add_bundles(bundle);
  }
  if (!response.has_entry() && !response.has_compile() && bundles.empty()) {
    return absl::NotFoundError(absl::StrCat("nothing is known of key ", key.Hex()));
  }
  return absl::OkStatus();
}

absl::Status Retry(ServiceContext& context, const v1::RetryRequest& request) {
  ASSIGN_OR_RETURN(const Key key, KeyFromWire(request.key(), "key"));
  return context.store.ForgetFailure(key);
}

absl::Status GetStats(ServiceContext& context, v1::Stats& response) {
  ASSIGN_OR_RETURN(const StoreCounts stored, context.store.Count());
  const DispatchCounts dispatched = context.dispatcher.Count();
  response.set_version(NEFFCACHE_VERSION);
  response.set_uptime_ms(absl::ToInt64Milliseconds(absl::Now() - context.started));
  response.set_entries_ready(stored.entries_ready);
  response.set_entries_failed(stored.entries_failed);
  response.set_artifacts(stored.artifacts);
  response.set_artifact_bytes(stored.artifact_bytes);
  response.set_damaged(stored.damaged);
  response.set_lookups(context.counters.lookups);
  response.set_hits(context.counters.hits);
  response.set_compile_time_saved_ms(context.counters.compile_ms_saved);
  response.set_bytes_served(context.counters.bytes_served);
  response.set_compiles_queued(dispatched.queued);
  response.set_compiles_running(dispatched.running);
  response.set_compiles_done(dispatched.done);
  response.set_compiles_failed(dispatched.failed);
  response.set_compiles_joined(dispatched.joined);
  response.set_workers(dispatched.workers);
  response.set_slots(dispatched.slots);
  return absl::OkStatus();
}

}  // namespace neffcache
