#include <memory>
#include <utility>
#include <vector>

#include "io/status_macros.h"
#include "server/rpc/admin_queries.h"
#include "server/rpc/entry_batches.h"
#include "server/rpc/list_stream.h"
#include "server/store/entry_messages.h"

namespace neffcache {
namespace {

// The list is made from the keys as they are at the start (32 bytes each), so that a slow client
// holds neither an iterator nor a thread. What has gone in the meantime is skipped.
class EntryList {
 public:
  EntryList(const Store& store, bool failed_only) : store_(store), failed_only_(failed_only) {}

  absl::StatusOr<std::vector<v1::Entry>> Next() {
    if (batches_ == nullptr) RETURN_IF_ERROR(Snapshot());
    std::vector<v1::Entry> wire;
    while (wire.empty()) {
      ASSIGN_OR_RETURN(const auto found, batches_->Next());
      if (found.empty()) break;
      for (const auto& one : found) {
        if (one.entry.has_value() && Wanted(*one.entry)) wire.push_back(ToMessage(*one.entry));
      }
    }
    return wire;
  }

 private:
  bool Wanted(const Entry& entry) const { return !failed_only_ || entry.failed() != nullptr; }

  absl::Status Snapshot() {
    std::vector<Key> keys;
    RETURN_IF_ERROR(store_.ForEachEntry([&](const Entry& entry) {
      if (Wanted(entry)) keys.push_back(entry.key);
      return true;
    }));
    batches_ = std::make_unique<EntryBatches<Key>>(store_, std::move(keys));
    return absl::OkStatus();
  }

  const Store& store_;
  const bool failed_only_;
  std::unique_ptr<EntryBatches<Key>> batches_;
};

}  // namespace

grpc::ServerWriteReactor<v1::Entry>* StartListEntries(ServiceContext& context,
                                                      const v1::ListEntriesRequest& request) {
  return ListStream<v1::Entry>::Create(
      context.reads,
      [list = EntryList(context.store, request.failed_only())]() mutable { return list.Next(); });
}

}  // namespace neffcache
