#include "compiler_driver/stop_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace neffcache {

absl::StatusOr<StopSignals> StopSignals::Take() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Fd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "waiting for signals");
  return StopSignals(std::move(fd));
}

StopSignals::Event StopSignals::Await(int other) const {
  for (;;) {
    pollfd polled[] = {{fd_.get(), POLLIN, 0}, {other, POLLIN, 0}};
    if (poll(polled, std::size(polled), -1) < 0) continue;  // EINTR
    if (polled[1].revents != 0) return Event::kOther;
    signalfd_siginfo info;
    if (read(fd_.get(), &info, sizeof info) == sizeof info) return Event::kSignal;
  }
}

}  // namespace neffcache
