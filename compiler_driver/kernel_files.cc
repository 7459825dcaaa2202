#include "compiler_driver/kernel_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/graph_pack.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

absl::Status Write(const std::string& path, absl::string_view bytes) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("creating ", path));
  return WriteAll(fd.get(), bytes, path);
}

// Or takes the one that is there; what else may be of that name is refused.
absl::Status MakeDirectory(const std::string& path) {
  struct stat info;
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  const int error = errno;
  if (error == EEXIST && lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(error, absl::StrCat("creating ", path));
}

// Of the file behind a path, links followed.
std::string StateOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return "";
  return absl::StrCat(info.st_dev, " ", info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec,
                      " ", info.st_mtim.tv_nsec, " ", info.st_ctim.tv_sec, " ",
                      info.st_ctim.tv_nsec);
}

// There is no such file here, or it has these bytes.
absl::Status CheckHost(const std::string& path, absl::string_view bytes) {
  const absl::StatusOr<std::string> here = ReadRegularFile(path, bytes.size());
  // Gone again since it was seen counts as absent; CheckUnchanged() then says that it changed.
  if (absl::IsNotFound(here.status()) || (here.ok() && *here == bytes)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this host has another file at ", path, ", which the graph names"));
}

}  // namespace

absl::StatusOr<KernelFiles> KernelFiles::LayOut(const std::string& graph,
                                                const std::string& directory) {
  KernelFiles files;
  ASSIGN_OR_RETURN(const FileContents contents, FileContents::Load(graph));
  if (!IsGraphPack(contents.bytes())) return files;
  ASSIGN_OR_RETURN(const GraphPack pack, ReadGraphPack(contents.bytes()));
  absl::flat_hash_map<absl::string_view, absl::string_view> laid;
  for (const PackedFile& file : pack.files) {
    const absl::string_view place = KernelFilePlace(file.path);
    const auto [same, is_new] = laid.emplace(place, file.bytes);
    if (!is_new && same->second != file.bytes) {
      return absl::DataLossError(absl::StrCat("two kernel files have the name ", place));
    }
    if (is_new) {
      const std::string path = absl::StrCat(directory, "/", place);
      RETURN_IF_ERROR(MakeDirectory(path.substr(0, path.rfind('/'))));
      RETURN_IF_ERROR(Write(path, file.bytes));
    }
    std::string state = StateOf(file.path);
    if (!state.empty()) RETURN_IF_ERROR(CheckHost(file.path, file.bytes));
    files.named_.emplace_back(file.path, std::move(state));
  }
  return files;
}

absl::Status KernelFiles::CheckUnchanged() const {
  for (const auto& [path, state] : named_) {
    if (StateOf(path) != state) {
      return absl::FailedPreconditionError(
          absl::StrCat("the kernel file ", path, " changed on this host during the compile"));
    }
  }
  return absl::OkStatus();
}

}  // namespace neffcache
