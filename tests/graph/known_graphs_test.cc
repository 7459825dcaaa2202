#include "tests/graph/known_graphs.h"

#include <gtest/gtest.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "graph/fingerprint.h"
#include "graph/graph_form.h"
#include "tests/graph/proto_tree.h"

namespace neffcache {
namespace {

class KnownGraphsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HaveGraphs()) GTEST_SKIP() << "no graphs in " << GraphsDirectory();
  }

  static GraphIdentity Identify(const std::filesystem::path& path,
                                GraphOrder order = GraphOrder::kCanonical) {
    IdentifyOptions options;
    options.order = order;
    return IdentifyGraph(ReadGraph(path), options).value();
  }
};

TEST_F(KnownGraphsTest, RealHloIsCanonicalized) {
  for (const char* directory : {"binary", "derived"}) {
    for (const auto& path : GraphFiles(directory)) {
      for (GraphOrder order : {GraphOrder::kCanonical, GraphOrder::kExact}) {
        const GraphIdentity identity = Identify(path, order);
        EXPECT_EQ(identity.raw_reason, "") << path;
        EXPECT_EQ(identity.uncacheable_reason, "") << path;
        EXPECT_EQ(identity.fingerprint.tag,
                  order == GraphOrder::kCanonical ? "neffcache-hlo-1" : "neffcache-hlo-1-exact");
      }
    }
  }
}

TEST_F(KnownGraphsTest, FormsAreToldByStructure) {
  for (const auto& path : GraphFiles("bytecode")) {
    const GraphIdentity identity = Identify(path);
    EXPECT_EQ(identity.form, GraphForm::kMlirBytecode);
    EXPECT_EQ(identity.fingerprint.tag, "neffcache-raw-1");
    EXPECT_EQ(identity.instructions, 0u);
  }
  for (const auto& path : GraphFiles("binary")) {
    const bool wrapped = absl::StrContains(path.string(), "credit_fraud") ||
                         absl::StrContains(path.string(), "tracelens");
    EXPECT_EQ(Identify(path).form, wrapped ? GraphForm::kHloProto : GraphForm::kHloModule) << path;
  }
  const GraphIdentity cnn = Identify(GraphsDirectory() / "binary" / "spu.jax_cnn.hlo.pb");
  EXPECT_EQ(cnn.computations, 39u);
  EXPECT_EQ(cnn.instructions, 6612u);
  EXPECT_EQ(cnn.name, "xla_computation_train_and_evaluate.6651");
}

// Of all the files, one pair is the same graph.
TEST_F(KnownGraphsTest, DifferentGraphsDiffer) {
  std::map<std::string, std::vector<std::string>> by_fingerprint;
  for (const char* directory : {"binary", "derived", "bytecode"}) {
    for (const auto& path : GraphFiles(directory)) {
      by_fingerprint[ToString(Identify(path).fingerprint)].push_back(path.filename());
    }
  }
  for (const auto& [fingerprint, files] : by_fingerprint) {
    if (files.size() == 1) continue;
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0], "neuron.bert_dp_graph_4.hlo_module.pb");
    EXPECT_EQ(files[1], "neuron.bert_single_graph_4.hlo_module.pb");
  }
  const auto derived = GraphsDirectory() / "derived";
  EXPECT_EQ(Identify(derived / "neuron.bert_dp_graph_4.hlo_module.pb").fingerprint,
            Identify(derived / "neuron.bert_single_graph_4.hlo_module.pb").fingerprint);
}

TEST_F(KnownGraphsTest, VectorsAreTheSameOrDifferAsTheyShould) {
  const auto files = GraphFiles("derived/vectors");
  ASSERT_FALSE(files.empty());
  for (const auto& path : files) {
    const std::string name = path.filename();
    const auto base = path.parent_path() / (name.substr(0, name.find('.')) + ".base.pb");
    const bool same = Identify(path).fingerprint == Identify(base).fingerprint;
    EXPECT_EQ(same, !absl::StrContains(name, ".differ.")) << name;
  }
}

// The same graph as two versions of XLA wrote it: other ids, names, metadata and schedule ids, and
// one attribute that is a hash of the module.
TEST_F(KnownGraphsTest, OneGraphByTwoXlaVersionsIsOneGraph) {
  constexpr uint32_t kModule = 1, kFrontendAttributes = 19;
  const auto identify = [](const char* name) {
    const std::string bytes = ReadGraph(GraphsDirectory() / "binary" / name);
    const RecognizedGraph graph = RecognizeGraph(bytes);
    ProtoMessage module = ParseProto(HloMessage::kModule, graph.module);
    ProtoMessage& attributes = module.At(kFrontendAttributes);
    std::erase_if(attributes.fields, [](ProtoField& entry) {
      return entry.message[0].Find(1)->bytes == "fingerprint_before_lhs";
    });
    ProtoMessage proto;
    proto.Message(kModule, module);
    return IdentifyGraph(Serialize(proto)).value();
  };
  const GraphIdentity old_ids = identify("tracelens-old.jit__unstack.hlo_proto.pb");
  const GraphIdentity new_ids = identify("tracelens-new.jit__unstack.hlo_proto.pb");
  EXPECT_EQ(old_ids.form, GraphForm::kHloProto);
  EXPECT_EQ(old_ids.raw_reason, "");
  EXPECT_EQ(old_ids.fingerprint, new_ids.fingerprint);
  EXPECT_NE(identify("tracelens-old.jit__normal.hlo_proto.pb").fingerprint,
            identify("tracelens-new.jit__normal.hlo_proto.pb").fingerprint);
}

}  // namespace
}  // namespace neffcache
