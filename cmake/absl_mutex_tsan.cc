// Tells ThreadSanitizer about absl::Mutex. Debian's Abseil is not instrumented, so without this
// every access that such a mutex guards looks like a race.
//
// The linker hands our calls of each function below to its __wrap_ form (--wrap, toolchain.cmake).
// Between the "pre" and "post" calls ThreadSanitizer looks away: there Abseil may run the
// conditions of other waiters.

#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

using absl::Condition;
using absl::Mutex;

namespace {

constexpr unsigned kWrite = __tsan_mutex_linker_init;
constexpr unsigned kRead = __tsan_mutex_linker_init | __tsan_mutex_read_lock;

template <typename Real>
void Locked(Mutex* mutex, unsigned flags, Real real) {
  __tsan_mutex_pre_lock(mutex, flags);
  real();
  __tsan_mutex_post_lock(mutex, flags, 0);
}

template <typename Real>
void Unlocked(Mutex* mutex, unsigned flags, Real real) {
  __tsan_mutex_pre_unlock(mutex, flags);
  real();
  __tsan_mutex_post_unlock(mutex, flags);
}

// Gives the mutex up and has it again at the end.
template <typename Real>
bool Awaited(Mutex* mutex, Real real) {
  bool met = true;
  Unlocked(mutex, kWrite, [&] { met = real(); });
  Locked(mutex, kWrite, [] {});
  return met;
}

}  // namespace

// In the mangled names, debian3 is the inline namespace of Debian's Abseil.
extern "C" {

void __real__ZN4absl7debian35Mutex4LockEv(Mutex*);
void __real__ZN4absl7debian35Mutex6UnlockEv(Mutex*);
void __real__ZN4absl7debian35Mutex10ReaderLockEv(Mutex*);
void __real__ZN4absl7debian35Mutex12ReaderUnlockEv(Mutex*);
void __real__ZN4absl7debian35MutexD1Ev(Mutex*);
void __real__ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE(Mutex*, const Condition&);
bool __real__ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE(
    Mutex*, const Condition&, absl::Duration);
bool __real__ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE(Mutex*,
                                                                                  const Condition&,
                                                                                  absl::Time);

void __wrap__ZN4absl7debian35Mutex4LockEv(Mutex* mutex) {
  Locked(mutex, kWrite, [&] { __real__ZN4absl7debian35Mutex4LockEv(mutex); });
}

void __wrap__ZN4absl7debian35Mutex6UnlockEv(Mutex* mutex) {
  Unlocked(mutex, kWrite, [&] { __real__ZN4absl7debian35Mutex6UnlockEv(mutex); });
}

void __wrap__ZN4absl7debian35Mutex10ReaderLockEv(Mutex* mutex) {
  Locked(mutex, kRead, [&] { __real__ZN4absl7debian35Mutex10ReaderLockEv(mutex); });
}

void __wrap__ZN4absl7debian35Mutex12ReaderUnlockEv(Mutex* mutex) {
  Unlocked(mutex, kRead, [&] { __real__ZN4absl7debian35Mutex12ReaderUnlockEv(mutex); });
}

void __wrap__ZN4absl7debian35MutexD1Ev(Mutex* mutex) {
  __tsan_mutex_destroy(mutex, 0);
  __real__ZN4absl7debian35MutexD1Ev(mutex);
}

void __wrap__ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE(Mutex* mutex,
                                                           const Condition& condition) {
  Awaited(mutex, [&] {
    __real__ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE(mutex, condition);
    return true;
  });
}

bool __wrap__ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE(
    Mutex* mutex, const Condition& condition, absl::Duration timeout) {
  return Awaited(mutex, [&] {
    return __real__ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE(
        mutex, condition, timeout);
  });
}

bool __wrap__ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE(
    Mutex* mutex, const Condition& condition, absl::Time deadline) {
  return Awaited(mutex, [&] {
    return __real__ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE(
        mutex, condition, deadline);
  });
}

}  // extern "C"
