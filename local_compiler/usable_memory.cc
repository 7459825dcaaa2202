#include "local_compiler/usable_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace neffcache {
namespace {

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

// Files of /proc and cgroups state no size, so they are read as streams. Empty when absent.
std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

uint64_t MachineMemory(const std::string& proc) {
  const std::string text = ReadText(proc + "/meminfo");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    uint64_t kib;
    if (absl::ConsumePrefix(&line, "MemTotal:") && absl::ConsumeSuffix(&line, "kB") &&
        absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &kib)) {
      return kib << 10;
    }
  }
  return kNone;
}

// "max" and the huge number by which v1 says "none" are no limits.
uint64_t LimitIn(const std::string& path) {
  uint64_t bytes;
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(ReadText(path)), &bytes) ? bytes : kNone;
}

// A container often mounts its own cgroup as the root, so that the path of /proc/self/cgroup leads
// nowhere: every ancestor counts, up to the root itself.
uint64_t TightestLimit(const std::string& root, absl::string_view group, absl::string_view file) {
  uint64_t tightest = kNone;
  for (;;) {
    while (absl::ConsumeSuffix(&group, "/")) {
    }
    tightest = std::min(tightest, LimitIn(absl::StrCat(root, group, "/", file)));
    if (group.empty()) return tightest;
    group = group.substr(0, group.rfind('/') == absl::string_view::npos ? 0 : group.rfind('/'));
  }
}

}  // namespace

uint64_t UsableMemory(const std::string& proc, const std::string& cgroup) {
  uint64_t usable = MachineMemory(proc);
  const std::string groups = ReadText(proc + "/self/cgroup");
  for (absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[1].empty()) {
      usable = std::min(usable, TightestLimit(cgroup, parts[2], "memory.max"));
    } else if (parts[1] == "memory") {
      usable =
          std::min(usable, TightestLimit(cgroup + "/memory", parts[2], "memory.limit_in_bytes"));
    }
  }
  return usable == kNone ? 0 : usable;
}

}  // namespace neffcache
