#include "client/graph_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/identified_spec.h"
#include "graph/graph_pack.h"
#include "io/digest.h"
#include "io/zstd.h"
#include "tests/client/scratch_directory.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

class GraphUploadTest : public ::testing::Test {
 protected:
  absl::Status Upload(const std::vector<KernelFile>& files) {
    return UploadGraph(
        graph_, files,
        [this](const v1::CompileRequest& request) {
          if (request.has_graph()) compressed_ += request.graph().data();
          if (request.has_graph_end()) end_ = request.graph_end();
          return true;
        },
        [](uint64_t) {});
  }

  ScratchDirectory scratch_;
  const std::string graph_ = scratch_.Write("graph.pb", "the graph");
  std::string compressed_;
  v1::GraphEnd end_;
};

TEST_F(GraphUploadTest, KernelFilesTravelInOnePackWithTheGraph) {
  const std::string large(3'000'000, 'k');
  const std::string first = scratch_.Write("a.klir", large);
  const std::string second = scratch_.Write("b.klir", "code");
  const absl::Status status = Upload({{first, Sha256Of(large)}, {second, Sha256Of("code")}});
  ASSERT_TRUE(status.ok()) << status;
  const std::string sent = ZstdDecompress(compressed_, 10'000'000).value();
  EXPECT_EQ(end_.size(), sent.size());
  EXPECT_EQ(end_.digest(), std::string(Sha256Of(sent).bytes()));
  const GraphPack pack = ReadGraphPack(sent).value();
  EXPECT_EQ(pack.graph, "the graph");
  ASSERT_EQ(pack.files.size(), 2u);
  EXPECT_EQ(pack.files[0].path, first);
  EXPECT_EQ(pack.files[0].bytes, large);
  EXPECT_EQ(pack.files[1].path, second);
  EXPECT_EQ(pack.files[1].bytes, "code");
}

TEST_F(GraphUploadTest, AGraphWithoutKernelFilesIsSentAsItIs) {
  ASSERT_TRUE(Upload({}).ok());
  EXPECT_EQ(ZstdDecompress(compressed_, 100).value(), "the graph");
}

TEST_F(GraphUploadTest, APackIsNotPackedAgain) {
  const std::string pack = GraphPackHead({{"/a/k.klir", "code"}}) + "code" + "the graph";
  scratch_.Write("graph.pb", pack);
  const absl::Status status = Upload({{"/a/k.klir", Sha256Of("code")}});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ZstdDecompress(compressed_, 1000).value(), pack);
}

TEST_F(GraphUploadTest, AKernelFileThatChangedIsNotSent) {
  const std::string kernel = scratch_.Write("a.klir", "newer");
  const absl::Status status = Upload({{kernel, Sha256Of("code")}});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("changed since"));
  EXPECT_EQ(compressed_, "");
}

TEST_F(GraphUploadTest, AKernelThatIsNoFileIsNotRead) {
  EXPECT_FALSE(Upload({{"/dev/zero", Sha256Of("")}}).ok());
  EXPECT_FALSE(Upload({{"/no/such/file", Sha256Of("")}}).ok());
  EXPECT_EQ(compressed_, "");
}

}  // namespace
}  // namespace neffcache
