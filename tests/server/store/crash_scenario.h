#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "server/store/store.h"

namespace neffcache {

// What store_crasher does and crash_test.cc expects.
StoreOptions CrashOptions(const std::string& directory);
std::string CrashArtifact(bool is_inline);
Entry CrashEntry(bool is_inline);
std::string CrashGraph();
QueuedCompile CrashQueued();

}  // namespace neffcache
