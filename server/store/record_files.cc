#include "server/store/record_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

// An entry and the bytes of an inline artifact.
constexpr uint64_t kMaxRecordBytes = uint64_t{256} << 20;

}  // namespace

RecordFiles::RecordFiles(const StoreLayout& layout)
    : temporary_directory_(layout.temporary()), directory_(layout.records()) {}

absl::Status RecordFiles::Write(const Key& key, absl::string_view record) {
  const std::string path = directory_.PathOf(key.Hex());
  RETURN_IF_ERROR(directory_.Prepare(key.Hex()));
  absl::StatusOr<AtomicFile> file = AtomicFile::CreateIn(temporary_directory_, path);
  if (!file.ok()) return NeverNotFound(file.status());
  RETURN_IF_ERROR(file->Write(record));
  return NeverNotFound(file->Commit(Durability::kSynced));
}

absl::StatusOr<std::string> RecordFiles::Read(const Key& key) const {
  return ReadWholeFile(directory_.PathOf(key.Hex()), kMaxRecordBytes);
}

absl::Status RecordFiles::Remove(const Key& key) const {
  const std::string path = directory_.PathOf(key.Hex());
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("deleting ", path));
}

absl::Status RecordFiles::ForEach(
    absl::FunctionRef<absl::Status(const std::string&, absl::string_view)> visit) const {
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(directory_.path(), error);
  for (const std::filesystem::recursive_directory_iterator end; !error && it != end;
       it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    const std::string path = it->path().string();
    ASSIGN_OR_RETURN(const std::string record, ReadWholeFile(path, kMaxRecordBytes));
    RETURN_IF_ERROR(visit(path, record));
  }
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("listing ", directory_.path()));
}

}  // namespace neffcache
