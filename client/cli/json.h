#pragma once

#include "client/cli/console.h"
#include "graph/fingerprint.h"
#include "graph/key.h"
#include "graph/parts.h"
#include "neffcache/client.h"
#include "neffcache/v1/admin.pb.h"
#include "neffcache/v1/cache.pb.h"

// The documents of --json. Digests are hex; durations are seconds, times Unix seconds, sizes bytes.
// Members without a value are left out.
namespace neffcache::cli {

Json ToJson(const Toolchain& toolchain);
Json ToJson(const ArtifactName& artifact);
Json ToJson(const CompileFailure& failure);
Json ToJson(const GraphIdentity& graph);
Json ToJson(const GraphParts& parts);

Json ToJson(const v1::Toolchain& toolchain);
Json ToJson(const v1::Failure& failure);
Json ToJson(const v1::Entry& entry);
Json ToJson(const v1::BundleSummary& bundle);
Json ToJson(const v1::Compile& compile);
Json ToJson(const v1::Worker& worker);
Json ToJson(const v1::Miss& miss);
Json ToJson(const v1::Stats& stats);

double Seconds(absl::Duration duration);

// "ready", "compiling", "failed", "absent".
absl::string_view StateName(KeyState::State state);
// "needs-graph", "queued", "running".
absl::string_view StateName(v1::Compile::State state);

// 32 bytes as hex digits.
std::string Hex(absl::string_view bytes);

}  // namespace neffcache::cli
