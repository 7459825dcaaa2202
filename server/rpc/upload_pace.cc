#include "server/rpc/upload_pace.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace neffcache {
namespace {

constexpr double kBytesPerSecond = 256 << 10;

}  // namespace

UploadPace::UploadPace(absl::Duration grace, absl::Time now)
    : grace_(grace), started_(now), last_(now) {}

void UploadPace::Received(uint64_t bytes, absl::Time came, absl::Time stored) {
  received_ += bytes;
  started_ += stored - came;
  last_ = stored;
}

absl::Time UploadPace::ByRate() const {
  return started_ + grace_ + absl::Seconds(static_cast<double>(received_) / kBytesPerSecond);
}

absl::Time UploadPace::Deadline() const {
  return std::min(last_ + grace_, ByRate());
}

absl::Status UploadPace::Check(absl::Time now) const {
  if (now >= last_ + grace_) {
    return absl::DeadlineExceededError(
        absl::StrCat("no piece of the graph came for ", absl::FormatDuration(grace_)));
  }
  if (now >= ByRate()) {
    return absl::DeadlineExceededError(absl::StrCat("the graph comes too slowly: ", received_,
                                                    " bytes in ",
                                                    absl::FormatDuration(now - started_)));
  }
  return absl::OkStatus();
}

}  // namespace neffcache
