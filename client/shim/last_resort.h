#pragma once

#include <string>

#include "absl/time/time.h"

namespace neffcache::shim {

// What happens when the shim does not get to end by itself: a crash or a hang compiles locally, a
// signal to stop stops, and none of them leaves part of an artifact behind.
//
// Signal handlers have no object to go to, so the state behind these functions is static and is set
// before any thread starts.

// From now on SIGTERM, SIGINT, SIGHUP and SIGQUIT remove the staging directory and then have their
// default effect (a signal that is ignored stays so). A crash of our own (SIGSEGV, SIGBUS, SIGFPE,
// SIGILL, abort) becomes `real_compiler` with `argv`, as if the shim had never been there; with no
// `real_compiler` (empty) it has its default effect. `argv` must live as long as the process.
void ArmLastResort(const std::string& real_compiler, char** argv);

// When this much time passes without another call or the end of the process, it is taken for hung
// and treated like a crash: where threads cannot be started, gRPC waits without end for one that it
// does not have. Any thread; after ArmLastResort().
void ExpectSignOfLifeWithin(absl::Duration limit);

// The directory to remove with the files in it; empty: none any more. False when the path is too
// long to be kept.
bool SetStagingDirectory(const std::string& path);

// Removes that directory, if there is one. Safe in a signal handler and from any thread.
void RemoveStagingDirectory();

// Ends this process by `signal`, so that its parent sees what it would see of the compiler.
[[noreturn]] void EndBySignal(int signal);

// Becomes the program at `path` with argv[0] replaced by that path, and with the signal mask that
// this process was started with. Returns only on failure, with errno set.
void BecomeProgram(const std::string& path, char** argv);

}  // namespace neffcache::shim
