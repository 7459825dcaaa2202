#include "io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

absl::Status Errno(absl::string_view verb, absl::string_view name) {
  return absl::ErrnoToStatus(errno, absl::StrCat(verb, " ", name));
}

std::string ParentOf(const std::string& path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = other.Release();
  }
  return *this;
}

int Fd::Release() {
  return std::exchange(fd_, -1);
}

void Fd::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

absl::StatusOr<Fd> OpenForRead(const std::string& path) {
  // Without O_NONBLOCK, which means nothing to files, a named pipe waits here for a writer.
  int fd;
  do {
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Errno("opening", path);
  Fd owned(fd);
  struct stat info;
  if (fstat(fd, &info) != 0) return Errno("looking at", path);
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("opening ", path, ": it is a directory"));
  }
  return owned;
}

absl::StatusOr<uint64_t> FileSize(int fd, absl::string_view name) {
  struct stat info;
  if (fstat(fd, &info) != 0) return Errno("looking at", name);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("looking at ", name, ": it is no regular file"));
  }
  return static_cast<uint64_t>(info.st_size);
}

absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, std::span<char> out,
                              absl::string_view name) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n == 0) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Errno("reading", name);
    done += static_cast<size_t>(n);
  }
  return done;
}

absl::Status WriteAll(int fd, absl::string_view bytes, absl::string_view name) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Errno("writing", name);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t limit) {
  ASSIGN_OR_RETURN(const Fd fd, OpenForRead(path));
  std::string content;
  // Not sized by fstat: files of /proc and pipes have no size.
  constexpr size_t kStep = 64 << 10;
  for (;;) {
    const size_t old_size = content.size();
    content.resize(old_size + kStep);
    const ssize_t n = read(fd.get(), content.data() + old_size, kStep);
    content.resize(old_size + static_cast<size_t>(n > 0 ? n : 0));
    if (n == 0) return content;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Errno("reading", path);
    if (content.size() > limit) {
      return absl::ResourceExhaustedError(
          absl::StrCat("reading ", path, ": it has more than ", limit, " bytes"));
    }
  }
}

absl::StatusOr<std::string> ReadRegularFile(const std::string& path, uint64_t limit) {
  ASSIGN_OR_RETURN(const Fd fd, OpenForRead(path));
  ASSIGN_OR_RETURN(const uint64_t size, FileSize(fd.get(), path));
  if (size > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("reading ", path, ": it has more than ", limit, " bytes"));
  }
  // One byte more, to see whether it grows meanwhile.
  std::string content(size + 1, '\0');
  ASSIGN_OR_RETURN(const size_t n, ReadAt(fd.get(), 0, {content.data(), content.size()}, path));
  if (n != size) {
    return absl::AbortedError(absl::StrCat("reading ", path, ": its size changes meanwhile"));
  }
  content.resize(size);
  return content;
}

absl::Status SyncDirectory(const std::string& directory) {
  const Fd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return Errno("opening directory", directory);
  if (fsync(fd.get()) != 0) return Errno("syncing directory", directory);
  return absl::OkStatus();
}

absl::Status CreateDirectories(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("creating directory ", directory));
  }
  return absl::OkStatus();
}

AtomicFile::AtomicFile(Fd fd, std::string temporary_path, std::string path)
    : fd_(std::move(fd)), temporary_path_(std::move(temporary_path)), path_(std::move(path)) {}

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path, mode_t mode) {
  return CreateIn(ParentOf(path), path, mode);
}

absl::StatusOr<AtomicFile> AtomicFile::CreateIn(const std::string& temporary_directory,
                                                const std::string& path, mode_t mode) {
  // Not mkostemp: it ignores `mode`, and the umask cannot be read without changing it for every
  // thread.
  for (;;) {
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
      return Errno("naming a temporary file for", path);
    }
    std::string temporary =
        absl::StrCat(temporary_directory, "/.neffcache-", absl::Hex(random, absl::kZeroPad16));
    const int fd = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0) return AtomicFile(Fd(fd), std::move(temporary), path);
    if (errno != EEXIST && errno != EINTR) return Errno("creating a temporary file for", path);
  }
}

AtomicFile::~AtomicFile() {
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      path_(std::exchange(other.path_, {})) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
    fd_ = std::move(other.fd_);
    temporary_path_ = std::exchange(other.temporary_path_, {});
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

absl::Status AtomicFile::Write(absl::string_view bytes) {
  return WriteAll(fd_.get(), bytes, temporary_path_);
}

absl::Status AtomicFile::Commit(Durability durability) {
  return CommitAs(path_, durability);
}

absl::Status AtomicFile::CommitAs(const std::string& path, Durability durability) {
  if (durability == Durability::kSynced && fdatasync(fd_.get()) != 0) {
    return Errno("syncing", temporary_path_);
  }
  // Before the rename: some network file systems report a failed write only here.
  if (fd_.valid() && close(fd_.Release()) != 0 && errno != EINTR) {
    return Errno("closing", temporary_path_);
  }
  if (rename(temporary_path_.c_str(), path.c_str()) != 0) return Errno("renaming onto", path);
  temporary_path_.clear();
  if (durability == Durability::kSynced) return SyncDirectory(ParentOf(path));
  return absl::OkStatus();
}

absl::StatusOr<FileContents> FileContents::Load(const std::string& path) {
  ASSIGN_OR_RETURN(const Fd fd, OpenForRead(path));
  ASSIGN_OR_RETURN(const uint64_t size, FileSize(fd.get(), path));
  FileContents contents;
  if (size > kReadLimit) {
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (mapping == MAP_FAILED) return Errno("mapping", path);
    contents.mapping_ = mapping;
    contents.size_ = size;
    return contents;
  }
  contents.copy_ = std::make_unique_for_overwrite<char[]>(size);
  ASSIGN_OR_RETURN(contents.size_, ReadAt(fd.get(), 0, {contents.copy_.get(), size}, path));
  return contents;
}

FileContents::~FileContents() {
  if (mapping_ != nullptr) munmap(mapping_, size_);
}

FileContents::FileContents(FileContents&& other) noexcept
    : copy_(std::move(other.copy_)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

FileContents& FileContents::operator=(FileContents&& other) noexcept {
  if (this != &other) {
    if (mapping_ != nullptr) munmap(mapping_, size_);
    copy_ = std::move(other.copy_);
    mapping_ = std::exchange(other.mapping_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

absl::string_view FileContents::bytes() const {
  return {mapping_ != nullptr ? static_cast<const char*>(mapping_) : copy_.get(), size_};
}

}  // namespace neffcache
