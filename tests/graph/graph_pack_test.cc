#include "graph/graph_pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/compiler_input.h"
#include "graph/explain.h"
#include "graph/fingerprint.h"
#include "tests/graph/hlo_builder.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

std::string GraphNaming(const std::vector<std::string>& paths) {
  ProtoMessage module = SmallModule();
  size_t at = 2;
  for (const std::string& path : paths) {
    InstructionAt(module, 0, at++)
        .Bytes(28, "AwsNeuronCustomNativeKernel")
        .Bytes(43,
               absl::Base64Escape(absl::StrCat(R"({"klir_binary": {"binary": ")", path, R"("}})")));
  }
  return Serialize(module);
}

std::string Pack(const std::vector<PackedFile>& files, absl::string_view graph) {
  std::string pack = GraphPackHead(files);
  for (const PackedFile& file : files) absl::StrAppend(&pack, file.bytes);
  absl::StrAppend(&pack, graph);
  return pack;
}

IdentifyOptions Answering(absl::string_view content) {
  IdentifyOptions options;
  options.file_digest = [digest = Sha256Of(content)](absl::string_view) -> absl::StatusOr<Digest> {
    return digest;
  };
  return options;
}

TEST(GraphPackTest, APackIsTheGraphWithItsFilesRead) {
  const std::string graph = GraphNaming({"/a/k.klir"});
  const GraphIdentity read = IdentifyGraph(graph, Answering("code")).value();
  ASSERT_TRUE(read.cacheable()) << read.uncacheable_reason;
  EXPECT_EQ(read.files, std::vector<KernelFile>({{"/a/k.klir", Sha256Of("code")}}));

  const GraphIdentity packed = IdentifyGraph(Pack({{"/a/k.klir", "code"}}, graph)).value();
  EXPECT_TRUE(packed.cacheable()) << packed.uncacheable_reason;
  EXPECT_EQ(packed.fingerprint, read.fingerprint);
  EXPECT_EQ(packed.files, read.files);
  const GraphIdentity other = IdentifyGraph(Pack({{"/a/k.klir", "cod2"}}, graph)).value();
  EXPECT_NE(other.fingerprint, read.fingerprint);
}

TEST(GraphPackTest, NoFileOutsideThePackIsAskedFor) {
  const std::string graph = GraphNaming({"/a/k.klir", "/a/second.klir"});
  const GraphIdentity identity =
      IdentifyGraph(Pack({{"/a/k.klir", "code"}}, graph), Answering("code")).value();
  EXPECT_THAT(identity.uncacheable_reason, HasSubstr("did not come with the graph"));
}

TEST(GraphPackTest, AFileThatTheGraphDoesNotNameIsRefused) {
  const std::string pack =
      Pack({{"/a/k.klir", "code"}, {"/a/x.klir", ""}}, GraphNaming({"/a/k.klir"}));
  EXPECT_EQ(IdentifyGraph(pack).status().code(), absl::StatusCode::kDataLoss);
}

TEST(GraphPackTest, ACompilerGetsTheGraphAsItWasWritten) {
  const std::string graph = GraphNaming({"/a/k.klir"});
  std::string storage;
  EXPECT_EQ(CompilerInput(Pack({{"/a/k.klir", "code"}}, graph), 1 << 20, &storage).value(), graph);
}

TEST(GraphPackTest, NamesThatLeadElsewhereOrMeanSomethingAreRefused) {
  for (const std::string path :
       {"", "k.klir", "../x", "/a/..", "/a/.", "/a/", "/", "/a/.hidden", "/a/b c", "/a/b\\c",
        "/a/graph.neff", "/a/GRAPH.hlo_module.pb", "/a/tmp", "/a/log-neuron-cc.txt",
        "/a/sitecustomize.py", "/a/x.pth", "/a/libc.so", "/a/libc.so.6"}) {
    EXPECT_FALSE(CheckKernelPath(path).ok()) << path;
    EXPECT_FALSE(ReadGraphPack(Pack({{path, "x"}}, "graph")).ok()) << path;
  }
  EXPECT_FALSE(CheckKernelPath(std::string("/a/k\0.klir", 10)).ok());
  EXPECT_FALSE(CheckKernelPath(absl::StrCat("/", std::string(256, 'x'))).ok());
  EXPECT_TRUE(CheckKernelPath("/var/tmp/nki-intermediate-cache/a_b-1.klir").ok());
}

TEST(GraphPackTest, DamagedPacksAreErrors) {
  const std::string graph = GraphNaming({"/a/k.klir"});
  const std::string head = GraphPackHead({{"/a/k.klir", "code"}});
  for (size_t size = 18; size < head.size() + 4; ++size) {
    EXPECT_FALSE(ReadGraphPack(absl::StrCat(head, "code").substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ReadGraphPack(Pack({{"/a/k", "1"}, {"/a/k", "1"}}, graph)).ok());
  EXPECT_FALSE(ReadGraphPack(Pack({}, graph)).ok());
  EXPECT_FALSE(ReadGraphPack(Pack({{"/a/k", ""}}, Pack({{"/a/k", ""}}, graph))).ok());
  std::vector<PackedFile> many;
  for (int i = 0; i < 5000; ++i) many.push_back({absl::StrCat("/a/", i), ""});
  EXPECT_THAT(ReadGraphPack(Pack(many, graph)).status().message(), HasSubstr("5000"));
}

TEST(GraphPackTest, FilesOfOneNameMustBeEqual) {
  const std::string graph = GraphNaming({"/a/k.klir", "/b/k.klir"});
  EXPECT_TRUE(IdentifyGraph(Pack({{"/a/k.klir", "1"}, {"/b/k.klir", "1"}}, graph))->cacheable());
  EXPECT_THAT(
      IdentifyGraph(Pack({{"/a/k.klir", "1"}, {"/b/k.klir", "2"}}, graph))->uncacheable_reason,
      HasSubstr("differ"));
}

TEST(GraphPackTest, AnExplanationNamesTheKernelThatChanged) {
  const std::string graph = GraphNaming({"/a/k.klir"});
  const Explanation explanation =
      ExplainGraphs(Pack({{"/a/k.klir", "1"}}, graph), Pack({{"/a/k.klir", "2"}}, graph)).value();
  EXPECT_FALSE(explanation.same);
  EXPECT_THAT(explanation.Summary(), HasSubstr("the content of k.klir"));
}

}  // namespace
}  // namespace neffcache
