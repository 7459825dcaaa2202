#pragma once

#include "absl/time/time.h"
#include "neffcache/v1/admin.pb.h"
#include "neffcache/v1/cache.pb.h"
#include "neffcache/v1/types.pb.h"
#include "neffcache/v1/worker.pb.h"
#include "server/scheduler/compile_event.h"
#include "server/scheduler/dispatcher.h"
#include "server/store/entry.h"

namespace neffcache {

// The scheduler's structures as messages; the store's are in server/store/entry_messages.h. Absent
// values become the proto's zero.

v1::Queued ToWire(const QueuedEvent& event);
v1::Running ToWire(const RunningEvent& event);
v1::Compile ToWire(const CompileView& view);
v1::Worker ToWire(const WorkerView& view);
v1::Lease ToWire(const Lease& lease, uint64_t output_limit_bytes);

}  // namespace neffcache
