#include "server/scheduler/compile.h"

#include <algorithm>

namespace neffcache {
namespace {

enum Urgency {
  kTrainerWaits,
  kPrecompileWaits,
  kPrecompile,
  kRebuildWaits,
  kRebuild,
};

}  // namespace

int UrgencyOf(const Compile& compile) {
  int urgency = compile.purpose == Purpose::kRebuild ? kRebuild : kPrecompile;
  for (const auto& [caller, purpose] : compile.callers) {
    switch (purpose) {
      case Purpose::kTrainer:
        return kTrainerWaits;
      case Purpose::kPrecompile:
        urgency = std::min<int>(urgency, kPrecompileWaits);
        break;
      case Purpose::kRebuild:
        urgency = std::min<int>(urgency, kRebuildWaits);
        break;
    }
  }
  return urgency;
}

}  // namespace neffcache
