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

// Our structures as messages. Absent values become the proto's zero.

v1::Toolchain ToWire(const Toolchain& toolchain);
v1::KeyMaterial ToWire(const KeyMaterial& material);
v1::Artifact ToWire(const Artifact& artifact);
v1::Failure ToWire(const Failure& failure);
v1::Entry ToWire(const Entry& entry);
// For those who asked by key: they have the material, and it is most of an entry.
v1::Entry WithoutMaterial(const Entry& entry);
v1::Queued ToWire(const QueuedEvent& event);
v1::Running ToWire(const RunningEvent& event);
v1::Compile ToWire(const CompileView& view);
v1::Worker ToWire(const WorkerView& view);
v1::Lease ToWire(const Lease& lease, uint64_t output_limit_bytes);

}  // namespace neffcache
