#include "compiler_driver/worker.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/random/random.h"

namespace neffcache {
namespace {

// What no later attempt will make better.
bool IsRefusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status) ||
         absl::IsUnauthenticated(status) || absl::IsUnimplemented(status);
}

}  // namespace

Worker::Worker(WorkerOptions options, ScratchRoot scratch,
               std::vector<std::unique_ptr<OfferedToolchain>> toolchains)
    : options_(std::move(options)),
      scratch_(std::move(scratch)),
      toolchains_(std::move(toolchains)),
      runner_(options_.compiles, scratch_, toolchains_) {
  for (uint32_t i = 0; i < options_.slots; ++i) slots_.emplace_back([this] { RunSlot(); });
}

Worker::~Worker() {
  leases_.RevokeAll();
  leases_.Close();
}

WorkOffer Worker::Offer() const {
  WorkOffer offer;
  offer.name = options_.name;
  offer.slots = options_.slots;
  offer.memory_bytes = options_.memory_bytes;
  offer.embedded = options_.embedded;
  for (const auto& toolchain : toolchains_) {
    offer.toolchains.push_back({std::string(toolchain->name()), toolchain->version()});
  }
  return offer;
}

std::shared_ptr<WorkSession> Worker::NewSession() {
  auto session =
      std::make_shared<WorkSession>(options_.daemon, Offer(), options_.idle_exit, leases_);
  absl::MutexLock lock(&mu_);
  if (leaving_) return nullptr;
  session_ = session;
  return session;
}

std::shared_ptr<WorkSession> Worker::CurrentSession() const {
  absl::MutexLock lock(&mu_);
  return session_;
}

absl::Status Worker::Run() {
  absl::BitGen random;
  absl::Duration back_off = options_.reconnect_after;
  while (const std::shared_ptr<WorkSession> session = NewSession()) {
    const WorkSession::End end = session->Run();
    {
      absl::MutexLock lock(&mu_);
      session_.reset();
    }
    leases_.RevokeAll();
    leases_.AwaitEmpty();
    if (end.left) return absl::OkStatus();
    if (!end.welcomed && IsRefusal(end.status)) return end.status;

    if (end.welcomed) back_off = options_.reconnect_after;
    // Spread out, so that a restarted daemon does not meet all its workers in one instant.
    const absl::Duration wait = back_off * absl::Uniform(random, 0.5, 1.0);
    spdlog::warn(
        "{}; connecting again in {:.1f} s",
        end.status.ok() ? "the daemon ended the stream" : std::string(end.status.message()),
        absl::ToDoubleSeconds(wait));
    back_off = std::min(back_off * 2, options_.reconnect_limit);
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithTimeout(absl::Condition(&leaving_), wait);
  }
  return absl::OkStatus();
}

void Worker::Leave() {
  {
    absl::MutexLock lock(&mu_);
    leaving_ = true;
  }
  if (const auto session = CurrentSession()) session->Leave();
}

void Worker::Kill() {
  Leave();
  leases_.RevokeAll();
  if (const auto session = CurrentSession()) session->Break();
}

void Worker::RunSlot() {
  while (const std::shared_ptr<HeldLease> held = leases_.Take()) {
    const absl::Status done = runner_.Run(*held);
    leases_.Release(held->lease.token);
    const auto session = CurrentSession();
    if (session == nullptr) continue;
    if (done.ok()) {
      session->LeaseEnded();
    } else {
      spdlog::warn("starting the stream anew: {}", std::string(done.message()));
      session->Break();
    }
  }
}

}  // namespace neffcache
