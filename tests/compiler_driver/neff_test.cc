#include "compiler_driver/neff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/compiler_driver/test_directory.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

void Put(std::string& bytes, size_t offset, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[offset + i] = static_cast<char>(value >> (8 * i));
}

class NeffTest : public ::testing::Test {
 protected:
  NeffTest() : neff_(1024, '\0') {
    Put(neff_, 0, 2, 8);
    Put(neff_, 8, 1024, 8);
    Put(neff_, 24, 2, 8);
    Put(neff_, 32, 1, 8);
    neff_.replace(40, 6, "2.27.0");
    neff_.replace(204, 16, "0123456789abcdef");
    neff_.replace(220, 4, "bert");
    Put(neff_, 544, 0x100, 8);
    Put(neff_, 552, 2, 4);
    SetPayload("\x1f\x8b" + std::string(100, 'x'));
  }
  void SetPayload(const std::string& payload) {
    neff_.resize(1024);
    neff_ += payload;
    Put(neff_, 16, payload.size(), 8);
  }
  absl::StatusOr<NeffHeader> Check() const { return CheckNeff(neff_, neff_.size()); }
  std::string Complaint() const { return std::string(Check().status().message()); }

  std::string neff_;
};

TEST_F(NeffTest, ConformantHeaderIsRead) {
  const absl::StatusOr<NeffHeader> header = Check();
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->pkg_version, 2u);
  EXPECT_EQ(header->data_size, 102u);
  EXPECT_EQ(header->version_major, 2u);
  EXPECT_EQ(header->version_minor, 1u);
  EXPECT_EQ(header->build_version, "2.27.0");
  EXPECT_EQ(header->name, "bert");
  EXPECT_EQ(header->uuid[15], 'f');
  EXPECT_EQ(header->feature_bits, 0x100u);
  EXPECT_EQ(header->lnc_size, 2u);
}

TEST_F(NeffTest, PlainTarPayloadPasses) {
  std::string tar(1024, '\0');
  tar.replace(257, 5, "ustar");
  SetPayload(tar);
  EXPECT_TRUE(Check().ok()) << Check().status();
}

TEST_F(NeffTest, EveryCutIsNoticed) {
  for (size_t size = 0; size < neff_.size(); ++size) {
    EXPECT_EQ(CheckNeff(neff_.substr(0, size), size).status().code(), absl::StatusCode::kDataLoss)
        << size;
  }
  neff_ += "x";
  EXPECT_THAT(Complaint(), HasSubstr("announces 102 bytes of payload, it has 103"));
}

TEST_F(NeffTest, ForeignHeaderSizeIsRefused) {
  Put(neff_, 8, 2048, 8);
  EXPECT_THAT(Complaint(), HasSubstr("states its own size as 2048"));
}

TEST_F(NeffTest, UnknownMajorVersionIsRefused) {
  Put(neff_, 24, 3, 8);
  EXPECT_THAT(Complaint(), HasSubstr("unknown version 3.1"));
  Put(neff_, 24, 1, 8);
  EXPECT_TRUE(Check().ok());
}

TEST_F(NeffTest, ForeignPayloadIsRefused) {
  SetPayload(std::string(100, 'x'));
  EXPECT_THAT(Complaint(), HasSubstr("neither gzip nor tar"));
  SetPayload("");
  EXPECT_THAT(Complaint(), HasSubstr("neither gzip nor tar"));
}

TEST_F(NeffTest, ZeroUuidIsRefused) {
  Put(neff_, 204, 0, 8);
  EXPECT_TRUE(Check().ok());
  Put(neff_, 212, 0, 8);
  EXPECT_THAT(Complaint(), HasSubstr("uuid is zero"));
}

TEST_F(NeffTest, FilesAreCheckedByNameInTheMessage) {
  TestDirectory directory;
  WriteFile(directory / "good.neff", neff_);
  EXPECT_TRUE(CheckNeffFile(directory / "good.neff").ok());
  WriteFile(directory / "cut.neff", neff_.substr(0, neff_.size() / 2));
  const absl::Status cut = CheckNeffFile(directory / "cut.neff").status();
  EXPECT_THAT(cut.message(), HasSubstr("cut.neff is not a complete NEFF"));
  EXPECT_EQ(CheckNeffFile(directory / "absent.neff").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace neffcache
