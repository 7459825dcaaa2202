#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/daemon.h"
#include "graph/key.h"
#include "neffcache/v1/admin.pb.h"
#include "neffcache/v1/cache.pb.h"

namespace neffcache {

// What people ask of a daemon, for the command line. Not part of the installed library.
//
// Thread-safe; refers to a daemon that outlives it. Answers are the protocol's own messages: they
// are only shown.
class AdminClient {
 public:
  explicit AdminClient(Daemon& daemon) : daemon_(daemon) {}

  // The key of a unique prefix of 8 to 64 hex digits; a full key is not asked for.
  absl::StatusOr<Key> ResolveKey(absl::string_view prefix);

  // Calls `visit` for each, as they come.
  absl::Status VisitEntries(bool failed_only, absl::FunctionRef<void(const v1::Entry&)> visit);
  absl::Status VisitBundles(absl::FunctionRef<void(const v1::BundleSummary&)> visit);

  absl::StatusOr<v1::ListCompilesResponse> ListCompiles();
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers();
  absl::StatusOr<v1::ShowKeyResponse> ShowKey(const Key& key);
  absl::Status Retry(const Key& key);
  absl::StatusOr<v1::Stats> GetStats();
  // What is known of the key, and what is like it.
  absl::StatusOr<v1::ExplainResponse> Explain(const v1::ExplainRequest& request);
  // Calls `visit` for each key of a bundle. NOT_FOUND: no such bundle.
  absl::Status VisitBundle(const std::string& bundle,
                           absl::FunctionRef<void(const v1::BundleKey&)> visit);

 private:
  Daemon& daemon_;
};

}  // namespace neffcache
