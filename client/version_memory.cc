#include "client/version_memory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "io/digest.h"
#include "io/file.h"

namespace neffcache {
namespace {

constexpr uint64_t kNoteLimit = 256;

// The note's file name; empty when nothing may be noted, or the program cannot be looked at.
std::string NoteName(const std::string& program, absl::string_view stamp) {
  if (stamp.empty()) return "";
  char resolved[PATH_MAX];
  struct stat info;
  if (realpath(program.c_str(), resolved) == nullptr || stat(resolved, &info) != 0) return "";
  return Sha256Of(absl::StrCat(resolved, "|", info.st_dev, "|", info.st_ino, "|", info.st_size, "|",
                               info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, "|", stamp))
      .Hex();
}

// The directory is shared by all users of a node (/var/tmp): somebody else's note could make one
// user's trainers load what another compiler made.
bool IsTrusted(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         (info.st_uid == geteuid() || info.st_uid == 0) &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool IsVersion(absl::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

}  // namespace

VersionMemory::VersionMemory(std::vector<std::string> directories)
    : directories_(std::move(directories)) {}

std::string VersionMemory::Recall(const std::string& program, absl::string_view stamp) const {
  const std::string name = NoteName(program, stamp);
  if (name.empty()) return "";
  for (const std::string& directory : directories_) {
    const std::string path = absl::StrCat(directory, "/versions/", name);
    if (!IsTrusted(path)) continue;
    absl::StatusOr<std::string> note = ReadWholeFile(path, kNoteLimit);
    if (note.ok() && IsVersion(*note)) return *std::move(note);
  }
  return "";
}

void VersionMemory::Remember(const std::string& program, absl::string_view stamp,
                             absl::string_view version) const {
  const std::string name = NoteName(program, stamp);
  if (name.empty() || !IsVersion(version)) return;
  for (const std::string& directory : directories_) {
    const std::string notes = directory + "/versions";
    if (!CreateDirectories(notes).ok()) continue;
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(absl::StrCat(notes, "/", name));
    if (file.ok() && file->Write(version).ok() && file->Commit(Durability::kBuffered).ok()) return;
  }
}

}  // namespace neffcache
