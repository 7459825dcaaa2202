#include "client/admin.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "client/stall_watchdog.h"
#include "io/status_macros.h"
#include "neffcache/v1/admin.grpc.pb.h"
#include "neffcache/v1/cache.grpc.pb.h"

namespace neffcache {
namespace {

// A call with one answer.
template <typename Response, typename Request, typename Stub>
absl::StatusOr<Response> Ask(Daemon& daemon,
                             grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*),
                             const Request& request, absl::string_view doing) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, daemon.Connect());
  Stub stub(channel);
  Response response;
  RETURN_IF_ERROR(
      daemon.Error((stub.*method)(daemon.NewShortCall().get(), request, &response), doing));
  return response;
}

// A call with any number of answers: it may take long, but not be silent.
template <typename Message, typename Open>
absl::Status Visit(Daemon& daemon, absl::string_view doing, Open open,
                   absl::FunctionRef<void(const Message&)> visit) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, daemon.Connect());
  const auto context = daemon.NewCall(absl::InfiniteDuration());
  StallWatchdog::Watch watch(daemon.watchdog(), context, daemon.options().call_timeout);
  const auto stream = open(channel, context.get());
  Message message;
  while (watch.During([&] { return stream->Read(&message); })) visit(message);
  return daemon.Error(watch.During([&] { return stream->Finish(); }), doing, watch);
}

}  // namespace

absl::StatusOr<Key> AdminClient::ResolveKey(absl::string_view prefix) {
  if (prefix.size() == 2 * Key::kSize) return Key::FromHex(prefix);
  const std::string doing = absl::StrCat("resolving key ", prefix);
  v1::ResolveKeyRequest request;
  request.set_prefix(std::string(prefix));
  ASSIGN_OR_RETURN(const v1::ResolveKeyResponse response,
                   Ask(daemon_, &v1::Admin::Stub::ResolveKey, request, doing));
  absl::StatusOr<Key> key = Key::FromBytes(response.key());
  if (!key.ok()) return daemon_.Error(key.status(), doing);
  return key;
}

absl::Status AdminClient::VisitEntries(bool failed_only,
                                       absl::FunctionRef<void(const v1::Entry&)> visit) {
  v1::ListEntriesRequest request;
  request.set_failed_only(failed_only);
  return Visit<v1::Entry>(
      daemon_, "listing entries",
      [&request](const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext* context) {
        return v1::Admin::Stub(channel).ListEntries(context, request);
      },
      visit);
}

absl::Status AdminClient::VisitBundles(absl::FunctionRef<void(const v1::BundleSummary&)> visit) {
  const v1::ListBundlesRequest request;
  return Visit<v1::BundleSummary>(
      daemon_, "listing bundles",
      [&request](const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext* context) {
        return v1::GraphCache::Stub(channel).ListBundles(context, request);
      },
      visit);
}

absl::StatusOr<v1::ListCompilesResponse> AdminClient::ListCompiles() {
  return Ask(daemon_, &v1::Admin::Stub::ListCompiles, v1::ListCompilesRequest(),
             "listing compiles");
}

absl::StatusOr<v1::ListWorkersResponse> AdminClient::ListWorkers() {
  return Ask(daemon_, &v1::Admin::Stub::ListWorkers, v1::ListWorkersRequest(), "listing workers");
}

absl::StatusOr<v1::ShowKeyResponse> AdminClient::ShowKey(const Key& key) {
  v1::ShowKeyRequest request;
  request.set_key(key.bytes().data(), Key::kSize);
  return Ask(daemon_, &v1::Admin::Stub::ShowKey, request,
             absl::StrCat("looking at key ", key.Hex()));
}

absl::Status AdminClient::Retry(const Key& key) {
  v1::RetryRequest request;
  request.set_key(key.bytes().data(), Key::kSize);
  return Ask(daemon_, &v1::Admin::Stub::Retry, request, absl::StrCat("retrying key ", key.Hex()))
      .status();
}

absl::StatusOr<v1::Stats> AdminClient::GetStats() {
  return Ask(daemon_, &v1::Admin::Stub::GetStats, v1::GetStatsRequest(), "asking for statistics");
}

absl::StatusOr<v1::ExplainResponse> AdminClient::Explain(const v1::ExplainRequest& request) {
  return Ask(daemon_, &v1::Admin::Stub::Explain, request, "asking for entries like the graph");
}

absl::Status AdminClient::VisitBundle(const std::string& bundle,
                                      absl::FunctionRef<void(const v1::BundleKey&)> visit) {
  v1::GetBundleRequest request;
  request.set_name(bundle);
  return Visit<v1::BundleKey>(
      daemon_, absl::StrCat("listing bundle ", bundle),
      [&request](const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext* context) {
        return v1::GraphCache::Stub(channel).GetBundle(context, request);
      },
      visit);
}

}  // namespace neffcache
