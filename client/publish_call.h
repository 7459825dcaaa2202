#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/daemon.h"
#include "client/identified_spec.h"

namespace neffcache {

// Publishes the artifact file under the spec's key, in two passes over the file: its digest goes
// first. True when it was accepted, false when an earlier one stays; the daemon may say so before
// all was sent.
//
// FAILED_PRECONDITION: the compile is uncacheable. INVALID_ARGUMENT: the file is empty.
absl::StatusOr<bool> PublishThrough(Daemon& daemon, const IdentifiedSpec& spec,
                                    const std::string& artifact_path, absl::Duration compile_time);

}  // namespace neffcache
