#include "client/lookup_call.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/wire.h"
#include "io/status_macros.h"
#include "neffcache/v1/cache.grpc.pb.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

// Who asks for more is filling a list, not starting a trainer: the bytes would not fit anyway.
constexpr size_t kMaxKeysWithInline = 16;

std::string Looking(absl::Span<const Key> keys) {
  return keys.size() == 1 ? absl::StrCat("looking up key ", keys[0].Hex())
                          : absl::StrCat("looking up ", keys.size(), " keys");
}

// Appends the states of one batch to `states`.
absl::Status LookupBatch(Daemon& daemon, v1::GraphCache::Stub& stub, absl::Span<const Key> keys,
                         absl::string_view bundle, LookupFor what_for,
                         std::vector<KeyState>& states) {
  v1::LookupRequest request;
  for (const Key& key : keys) request.add_keys(key.bytes().data(), Key::kSize);
  request.set_state_only(what_for == LookupFor::kState);
  const bool wants_bytes = what_for == LookupFor::kUse && keys.size() <= kMaxKeysWithInline;
  if (wants_bytes) request.set_inline_limit(kMaxInlineArtifact);
  request.set_bundle(std::string(bundle));
  v1::LookupResponse response;
  const grpc::Status status = stub.Lookup(daemon.NewShortCall().get(), request, &response);
  // The answer's size depends on what is known of the keys: one too large for a message is asked
  // for in halves.
  if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && keys.size() > 1) {
    const size_t half = keys.size() / 2;
    RETURN_IF_ERROR(LookupBatch(daemon, stub, keys.subspan(0, half), bundle, what_for, states));
    return LookupBatch(daemon, stub, keys.subspan(half), bundle, what_for, states);
  }
  RETURN_IF_ERROR(daemon.Error(status, Looking(keys)));
  if (response.results_size() != static_cast<int>(keys.size())) {
    return daemon.Error(
        absl::InternalError(absl::StrCat("the daemon gave ", response.results_size(), " answers")),
        Looking(keys));
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    absl::StatusOr<KeyState> state = KeyStateFrom(response.results(static_cast<int>(i)), keys[i]);
    if (!state.ok()) return daemon.Error(std::move(state).status(), Looking(keys));
    states.push_back(*std::move(state));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<KeyState>> LookupThrough(Daemon& daemon, absl::Span<const Key> keys,
                                                    absl::string_view bundle, LookupFor what_for) {
  std::vector<KeyState> states;
  if (keys.empty()) return states;
  states.reserve(keys.size());
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, daemon.Connect());
  const auto stub = v1::GraphCache::NewStub(channel);
  for (size_t begin = 0; begin < keys.size(); begin += kMaxLookupKeys) {
    RETURN_IF_ERROR(
        LookupBatch(daemon, *stub, keys.subspan(begin, kMaxLookupKeys), bundle, what_for, states));
  }
  return states;
}

}  // namespace neffcache
