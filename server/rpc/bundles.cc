#include "server/rpc/bundles.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/status_macros.h"
#include "server/rpc/entry_batches.h"
#include "server/rpc/from_wire.h"
#include "server/rpc/list_stream.h"
#include "server/store/entry_messages.h"

namespace neffcache {
namespace {

v1::BundleSummary ToWire(const BundleSummary& summary) {
  v1::BundleSummary wire;
  wire.set_name(summary.name);
  wire.set_keys(summary.keys);
  wire.set_ready(summary.ready);
  wire.set_bytes(summary.bytes);
  wire.set_last_seen_ms(absl::ToUnixMillis(summary.last_seen));
  return wire;
}

v1::BundleKey ToWire(const EntryBatches<BundleKey>::Found& found) {
  v1::BundleKey wire;
  wire.set_key(std::string(found.item.key.bytes()));
  wire.set_first_seen_ms(absl::ToUnixMillis(found.item.first_seen));
  wire.set_last_seen_ms(absl::ToUnixMillis(found.item.last_seen));
  if (found.entry.has_value()) *wire.mutable_entry() = ToMessage(*found.entry);
  return wire;
}

absl::StatusOr<std::vector<v1::BundleSummary>> AllBundles(const Store& store) {
  ASSIGN_OR_RETURN(const std::vector<BundleSummary> bundles, store.ListBundles());
  std::vector<v1::BundleSummary> wire;
  wire.reserve(bundles.size());
  for (const BundleSummary& bundle : bundles) wire.push_back(ToWire(bundle));
  return wire;
}

absl::StatusOr<EntryBatches<BundleKey>> OpenBundle(const Store& store, absl::string_view name) {
  RETURN_IF_ERROR(CheckName(name, "name", Empty::kRefused));
  ASSIGN_OR_RETURN(std::vector<BundleKey> keys, store.GetBundle(name));
  return EntryBatches<BundleKey>(store, std::move(keys));
}

}  // namespace

grpc::ServerWriteReactor<v1::BundleSummary>* StartListBundles(ServiceContext& context) {
  return ListStream<v1::BundleSummary>::Create(
      context.reads,
      [&context, done = false]() mutable -> absl::StatusOr<std::vector<v1::BundleSummary>> {
        if (std::exchange(done, true)) return std::vector<v1::BundleSummary>();
        return AllBundles(context.store);
      });
}

grpc::ServerWriteReactor<v1::BundleKey>* StartGetBundle(ServiceContext& context,
                                                        const v1::GetBundleRequest& request) {
  return ListStream<v1::BundleKey>::Create(
      context.reads,
      [&context, name = request.name(),
       batches = std::unique_ptr<EntryBatches<BundleKey>>()]() mutable
      -> absl::StatusOr<std::vector<v1::BundleKey>> {
        if (batches == nullptr) {
          ASSIGN_OR_RETURN(EntryBatches<BundleKey> opened, OpenBundle(context.store, name));
          batches = std::make_unique<EntryBatches<BundleKey>>(std::move(opened));
        }
        ASSIGN_OR_RETURN(const auto found, batches->Next());
        std::vector<v1::BundleKey> wire;
        wire.reserve(found.size());
        for (const auto& one : found) wire.push_back(ToWire(one));
        return wire;
      });
}

}  // namespace neffcache
