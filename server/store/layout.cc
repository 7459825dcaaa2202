#include "server/store/layout.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "server/store/layout_version.h"

namespace neffcache {
namespace {

constexpr absl::string_view kMarkerWord = "neffcache-store";

absl::StatusOr<std::string> NewId() {
  std::array<char, 16> random;
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return absl::ErrnoToStatus(errno, "naming a new store");
  }
  return absl::BytesToHexString({random.data(), random.size()});
}

absl::Status Empty(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    std::filesystem::remove_all(it->path(), error);
    if (error) break;
  }
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("emptying ", directory));
}

}  // namespace

StoreLayout::StoreLayout(std::string data_dir, std::string db_dir)
    : data_dir_(std::move(data_dir)), db_dir_(std::move(db_dir)) {
  if (db_dir_.empty()) db_dir_ = absl::StrCat(data_dir_, "/db");
}

std::string StoreLayout::temporary() const {
  return absl::StrCat(data_dir_, "/tmp");
}

std::string StoreLayout::artifacts() const {
  return absl::StrCat(data_dir_, "/artifacts");
}

std::string StoreLayout::records() const {
  return absl::StrCat(data_dir_, "/records");
}

absl::StatusOr<std::string> StoreLayout::ReadId() const {
  const std::string path = absl::StrCat(data_dir_, "/layout");
  absl::StatusOr<std::string> text = ReadWholeFile(path, 4096);
  if (absl::IsNotFound(text.status())) return std::string();
  if (!text.ok()) return std::move(text).status();
  const std::vector<absl::string_view> words = absl::StrSplit(absl::StripSuffix(*text, "\n"), ' ');
  uint32_t version;
  if (words.size() != 3 || words[0] != kMarkerWord || !absl::SimpleAtoi(words[1], &version)) {
    return absl::DataLossError(absl::StrCat("reading ", path, ": it is not a neffcache store's"));
  }
  RETURN_IF_ERROR(CheckLayoutVersion(version, data_dir_));
  return std::string(words[2]);
}

absl::StatusOr<std::string> StoreLayout::Prepare() const {
  ASSIGN_OR_RETURN(std::string id, ReadId());
  if (!id.empty()) {
    RETURN_IF_ERROR(Empty(temporary()));
    return id;
  }
  RETURN_IF_ERROR(CreateDirectories(temporary()));
  RETURN_IF_ERROR(CreateDirectories(artifacts()));
  RETURN_IF_ERROR(CreateDirectories(records()));
  ASSIGN_OR_RETURN(id, NewId());
  // Last: a directory with this file has all the others.
  ASSIGN_OR_RETURN(AtomicFile marker, AtomicFile::Create(absl::StrCat(data_dir_, "/layout")));
  RETURN_IF_ERROR(marker.Write(absl::StrCat(kMarkerWord, " ", kLayoutVersion, " ", id, "\n")));
  RETURN_IF_ERROR(marker.Commit(Durability::kSynced));
  return id;
}

absl::Status NeverNotFound(absl::Status status) {
  if (!absl::IsNotFound(status)) return status;
  return absl::UnavailableError(
      absl::StrCat(status.message(), "; is the store's file system mounted?"));
}

}  // namespace neffcache
