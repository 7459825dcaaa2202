#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "client/cli/session.h"
#include "graph/key.h"

namespace neffcache::cli {

// Whether the daemon may be asked what its workers offer.
enum class AskDaemon { kYes, kNo };

// Which toolchain a command means. Decided when first asked for, for a command that is given keys
// alone needs none. Used by one thread.
class ToolchainChoice {
 public:
  // `wanted` is the value of --toolchain:
  //   NAME=VERSION  as given;
  //   NAME          the compiler of that name on this machine, else the one version that the
  //                 daemon's workers offer;
  //   (empty)       the compiler of this machine, else the daemon's only toolchain.
  ToolchainChoice(Session& session, std::string wanted, AskDaemon ask)
      : session_(session), wanted_(std::move(wanted)), ask_(ask) {}

  // A usage error: `wanted` is malformed. FAILED_PRECONDITION: none or several fit; the message
  // lists them.
  absl::StatusOr<Toolchain> Get();

 private:
  absl::StatusOr<Toolchain> Decide();
  absl::StatusOr<Toolchain> FromDaemon(const std::string& name, const absl::Status& no_local);

  Session& session_;
  const std::string wanted_;
  const AskDaemon ask_;
  absl::optional<absl::StatusOr<Toolchain>> decided_;
};

}  // namespace neffcache::cli
