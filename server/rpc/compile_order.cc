#include "server/rpc/compile_order.h"

#include <spdlog/spdlog.h>

#include "io/status_macros.h"
#include "server/rpc/from_wire.h"

namespace neffcache {
namespace {

absl::StatusOr<Purpose> PurposeFromWire(v1::Purpose purpose) {
  switch (purpose) {
    case v1::PURPOSE_UNSPECIFIED:
    case v1::PURPOSE_TRAINER:
      return Purpose::kTrainer;
    case v1::PURPOSE_PRECOMPILE:
      return Purpose::kPrecompile;
    case v1::PURPOSE_REBUILD:
      return Purpose::kRebuild;
    default:
      return absl::InvalidArgumentError("start.purpose: unknown");
  }
}

void LogUnlessOk(const absl::Status& status, const char* event, const Key& key) {
  if (!status.ok()) {
    spdlog::warn("event={} key={} error=\"{}\"", event, key.Hex(), status.ToString());
  }
}

}  // namespace

absl::StatusOr<CompileOrder> OrderFromWire(const v1::CompileStart& start) {
  CompileOrder order;
  ASSIGN_OR_RETURN(order.material, MaterialFromWire(start.material(), "start.material"));
  order.key = ComputeKey(order.material);
  ASSIGN_OR_RETURN(order.purpose, PurposeFromWire(start.purpose()));
  if (!v1::Wait_IsValid(start.wait())) return absl::InvalidArgumentError("start.wait: unknown");
  RETURN_IF_ERROR(CheckInlineLimit(start.inline_limit()));
  RETURN_IF_ERROR(CheckName(start.bundle(), "start.bundle", Empty::kAllowed));
  RETURN_IF_ERROR(CheckName(start.client(), "start.client", Empty::kAllowed));
  RETURN_IF_ERROR(CheckName(start.native_module(), "start.native_module", Empty::kAllowed));
  order.retry_failed = start.retry_failed();
  order.refuse_unknown_toolchain = start.refuse_unknown_toolchain();
  order.client = start.client();
  return order;
}

CompileStartOptions OptionsFromWire(const v1::CompileStart& start) {
  return {.inline_limit = start.inline_limit(),
          .until_queued = start.wait() == v1::WAIT_UNTIL_QUEUED};
}

void RecordNames(Store& store, const v1::CompileStart& start, const CompileOrder& order) {
  if (!start.bundle().empty()) {
    LogUnlessOk(store.RecordInBundle(start.bundle(), {&order.key, 1}), "bundle_not_recorded",
                order.key);
  }
  if (!start.native_module().empty()) {
    LogUnlessOk(
        store.RecordNative(order.material.toolchain.version, start.native_module(), order.key),
        "native_module_not_recorded", order.key);
  }
}

}  // namespace neffcache
