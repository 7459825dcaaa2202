#include "compiler_driver/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "io/file.h"

namespace neffcache {
namespace {

// A process can fork faster than this is read; nobody's compiler has this many.
constexpr size_t kMaxProcesses = 16384;

// Files in /proc state no size; empty when the process has gone.
std::string ReadProcFile(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!fd.valid()) return text;
  char buffer[4096];
  for (ssize_t n; (n = read(fd.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

std::vector<pid_t> ChildrenOf(pid_t process) {
  std::vector<pid_t> children;
  const std::string tasks = absl::StrCat("/proc/", process, "/task");
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(tasks.c_str()), closedir);
  if (directory == nullptr) return children;
  // A child hangs on the thread that forked it.
  while (const dirent* task = readdir(directory.get())) {
    if (task->d_name[0] == '.') continue;
    const std::string text = ReadProcFile(absl::StrCat(tasks, "/", task->d_name, "/children"));
    for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipWhitespace())) {
      pid_t child;
      if (absl::SimpleAtoi(word, &child)) children.push_back(child);
    }
  }
  return children;
}

}  // namespace

std::vector<pid_t> Descendants(pid_t root) {
  std::vector<pid_t> found = ChildrenOf(root);
  for (size_t i = 0; i < found.size() && found.size() < kMaxProcesses; ++i) {
    const std::vector<pid_t> children = ChildrenOf(found[i]);
    found.insert(found.end(), children.begin(), children.end());
  }
  return found;
}

uint64_t ResidentBytes(const std::vector<pid_t>& processes) {
  static const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t pages = 0;
  for (pid_t process : processes) {
    const std::string text = ReadProcFile(absl::StrCat("/proc/", process, "/statm"));
    const std::vector<absl::string_view> fields = absl::StrSplit(text, ' ');
    uint64_t resident;
    if (fields.size() > 1 && absl::SimpleAtoi(fields[1], &resident)) pages += resident;
  }
  return pages * page;
}

void SignalAll(const std::vector<pid_t>& processes, int signal) {
  for (pid_t process : processes) kill(process, signal);
}

}  // namespace neffcache
