#include "client/cli/interrupt.h"

#include <atomic>

namespace neffcache::cli {
namespace {

// A signal handler reaches nothing but statics.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void OnSignal(int) {
  interrupted = true;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupted = false;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  // For the second signal the default is back.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool InterruptGuard::requested() {
  return interrupted;
}

}  // namespace neffcache::cli
