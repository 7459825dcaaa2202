#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "neffcache/v1/cache.pb.h"
#include "server/scheduler/dispatcher.h"
#include "server/store/store.h"

namespace neffcache {

// What the stream itself needs of a CompileStart.
struct CompileStartOptions {
  uint32_t inline_limit = 0;
  bool until_queued = false;
};

// The order in a CompileStart, its key computed here. INVALID_ARGUMENT naming the field.
absl::StatusOr<CompileOrder> OrderFromWire(const v1::CompileStart& start);

// Of a start that OrderFromWire took.
CompileStartOptions OptionsFromWire(const v1::CompileStart& start);

// Records the order in its bundle and under its stock module name. What cannot be recorded (a full
// disk) is logged and does not stop the compile.
void RecordNames(Store& store, const v1::CompileStart& start, const CompileOrder& order);

}  // namespace neffcache
