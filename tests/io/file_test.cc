#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/io/status_matchers.h"
#include "tests/io/temporary_directory.h"

namespace neffcache {
namespace {

std::string ContentOf(const std::string& path) {
  const absl::StatusOr<std::string> content = ReadWholeFile(path, 1 << 20);
  EXPECT_THAT(content, IsOk());
  return content.value_or("");
}

void WriteFile(const std::string& path, absl::string_view bytes) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  ASSERT_THAT(file, IsOk());
  ASSERT_THAT(file->Write(bytes), IsOk());
  ASSERT_THAT(file->Commit(Durability::kBuffered), IsOk());
}

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(directory)) {
    names.push_back(item.path().filename().string());
  }
  return names;
}

class FileTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
};

TEST_F(FileTest, CommittedFileIsThereWhole) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(directory_ / "f");
  ASSERT_THAT(file, IsOk());
  ASSERT_THAT(file->Write("one "), IsOk());
  ASSERT_THAT(file->Write("two"), IsOk());
  EXPECT_FALSE(std::filesystem::exists(directory_ / "f"));
  ASSERT_THAT(file->Commit(Durability::kSynced), IsOk());
  EXPECT_EQ(ContentOf(directory_ / "f"), "one two");
  EXPECT_EQ(NamesIn(directory_.path()), std::vector<std::string>{"f"});
}

TEST_F(FileTest, ANamedPipeIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(FileContents::Load(directory_ / "pipe"), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_F(FileTest, DroppedFileLeavesNothing) {
  {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(directory_ / "f");
    ASSERT_THAT(file, IsOk());
    ASSERT_THAT(file->Write("half"), IsOk());
    AtomicFile moved = *std::move(file);
  }
  EXPECT_TRUE(NamesIn(directory_.path()).empty());
}

TEST_F(FileTest, AssignedOverFileLeavesNothing) {
  AtomicFile file = *AtomicFile::Create(directory_ / "f");
  file = *AtomicFile::Create(directory_ / "g");
  ASSERT_THAT(file.Commit(Durability::kBuffered), IsOk());
  EXPECT_EQ(NamesIn(directory_.path()), std::vector<std::string>{"g"});
}

TEST_F(FileTest, CommitReplacesWhatIsThere) {
  WriteFile(directory_ / "f", "old");
  WriteFile(directory_ / "f", "new");
  EXPECT_EQ(ContentOf(directory_ / "f"), "new");
}

TEST_F(FileTest, FailedCommitLeavesTheFinalNameAlone) {
  WriteFile(directory_ / "f", "old");
  {
    AtomicFile file = *AtomicFile::Create(directory_ / "f");
    ASSERT_THAT(file.Write("new"), IsOk());
    EXPECT_THAT(file.CommitAs(directory_ / "absent/f", Durability::kSynced),
                HasCode(absl::StatusCode::kNotFound));
  }
  EXPECT_EQ(ContentOf(directory_ / "f"), "old");
  EXPECT_EQ(NamesIn(directory_.path()), std::vector<std::string>{"f"});
}

TEST_F(FileTest, FileIsStagedElsewhereAndNamedAtTheEnd) {
  ASSERT_THAT(CreateDirectories(directory_ / "tmp"), IsOk());
  AtomicFile file = *AtomicFile::CreateIn(directory_ / "tmp", directory_ / "undecided");
  EXPECT_EQ(NamesIn(directory_ / "tmp").size(), 1u);
  ASSERT_THAT(file.CommitAs(directory_ / "decided", Durability::kSynced), IsOk());
  EXPECT_TRUE(std::filesystem::exists(directory_ / "decided"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "undecided"));
  EXPECT_TRUE(NamesIn(directory_ / "tmp").empty());
}

TEST_F(FileTest, ModeIsSubjectToTheUmaskWhichStays) {
  const mode_t before = umask(027);
  AtomicFile file = *AtomicFile::Create(directory_ / "f", 0666);
  EXPECT_EQ(umask(before), mode_t{027});
  ASSERT_THAT(file.Commit(Durability::kBuffered), IsOk());
  struct stat info;
  ASSERT_EQ(stat((directory_ / "f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, mode_t{0640});
}

TEST_F(FileTest, CreationInAnAbsentDirectoryNamesTheFile) {
  const absl::StatusOr<AtomicFile> file = AtomicFile::Create(directory_ / "absent/f");
  EXPECT_THAT(file, HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(file, Says("absent/f"));
}

TEST_F(FileTest, FullDeviceIsResourceExhausted) {
  const Fd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  EXPECT_THAT(WriteAll(full.get(), "x", "/dev/full"),
              HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_F(FileTest, MissingFileIsNotFoundAndNamed) {
  EXPECT_THAT(OpenForRead(directory_ / "absent"), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(OpenForRead(directory_ / "absent"), Says("absent"));
  EXPECT_THAT(ReadWholeFile(directory_ / "absent", 10), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(FileContents::Load(directory_ / "absent").status(),
              HasCode(absl::StatusCode::kNotFound));
}

TEST_F(FileTest, DirectoryIsNoFile) {
  EXPECT_THAT(OpenForRead(directory_.path()), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_F(FileTest, PipeHasNoSize) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  EXPECT_THAT(FileSize(reader.get(), "a pipe"), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_F(FileTest, ReadAtIsShortOnlyAtTheEnd) {
  WriteFile(directory_ / "f", "0123456789");
  const Fd fd = *OpenForRead(directory_ / "f");
  EXPECT_EQ(*FileSize(fd.get(), "f"), 10u);
  std::array<char, 4> out;
  EXPECT_EQ(*ReadAt(fd.get(), 3, out, "f"), 4u);
  EXPECT_EQ(std::string(out.data(), 4), "3456");
  EXPECT_EQ(*ReadAt(fd.get(), 8, out, "f"), 2u);
  EXPECT_EQ(*ReadAt(fd.get(), 10, out, "f"), 0u);
  EXPECT_EQ(*ReadAt(fd.get(), 99, out, "f"), 0u);
}

TEST_F(FileTest, WholeFileIsReadUpToItsLimit) {
  WriteFile(directory_ / "f", std::string(100'000, 'x'));
  EXPECT_EQ(ReadWholeFile(directory_ / "f", 100'000)->size(), 100'000u);
  EXPECT_THAT(ReadWholeFile(directory_ / "f", 99'999),
              HasCode(absl::StatusCode::kResourceExhausted));
}

TEST_F(FileTest, FilesWithoutASizeAreReadWhole) {
  EXPECT_THAT(ReadWholeFile("/proc/self/status", 1 << 20),
              testing::Truly([](const auto& text) { return text.ok() && !text->empty(); }));
}

TEST_F(FileTest, DirectoriesAreCreatedWithTheirParents) {
  EXPECT_THAT(CreateDirectories(directory_ / "a/b/c"), IsOk());
  EXPECT_THAT(CreateDirectories(directory_ / "a/b/c"), IsOk());
  EXPECT_THAT(SyncDirectory(directory_ / "a/b/c"), IsOk());
  WriteFile(directory_ / "f", "");
  EXPECT_FALSE(CreateDirectories(directory_ / "f/d").ok());
  EXPECT_FALSE(SyncDirectory(directory_ / "f").ok());
}

TEST_F(FileTest, ContentsSurviveAMoveAndTheFile) {
  WriteFile(directory_ / "f", "bytes");
  FileContents contents = *FileContents::Load(directory_ / "f");
  std::filesystem::remove(directory_ / "f");
  FileContents moved = std::move(contents);
  EXPECT_EQ(moved.bytes(), "bytes");
  EXPECT_EQ(contents.bytes(), "");
}

TEST_F(FileTest, LargeFileIsMapped) {
  const std::string path = directory_ / "large";
  const Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const uint64_t size = FileContents::kReadLimit + 1;
  ASSERT_EQ(ftruncate(fd.get(), static_cast<off_t>(size)), 0);  // A hole: no bytes are written.
  ASSERT_EQ(pwrite(fd.get(), "z", 1, static_cast<off_t>(size - 1)), 1);
  const absl::StatusOr<FileContents> contents = FileContents::Load(path);
  ASSERT_THAT(contents, IsOk());
  ASSERT_EQ(contents->bytes().size(), size);
  EXPECT_EQ(contents->bytes().back(), 'z');
}

TEST_F(FileTest, EmptyFileHasEmptyContents) {
  WriteFile(directory_ / "f", "");
  EXPECT_EQ(FileContents::Load(directory_ / "f")->bytes(), "");
}

TEST(FdTest, MovedFromDescriptorIsNotClosedTwice) {
  Fd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = fd.get();
  Fd moved = std::move(fd);
  EXPECT_FALSE(fd.valid());
  EXPECT_EQ(moved.get(), number);
  moved.Close();
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace neffcache
