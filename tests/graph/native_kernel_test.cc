#include "graph/native_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/graph/hlo_builder.h"

namespace neffcache {
namespace {

using ::testing::HasSubstr;

constexpr char kTarget[] = "AwsNeuronCustomNativeKernel";

std::string Config(const std::string& path) {
  return absl::Base64Escape(
      absl::StrCat(R"({"func_name": "flash_fwd", "mac_count": 123, "klir_binary": {"binary": ")",
                   path, R"(", "input_names": ["q", "k"]}})"));
}

ProtoMessage Calling(const std::string& config, const char* target = kTarget) {
  ProtoMessage module = SmallModule();
  InstructionAt(module, 0, 3).Bytes(28, target).Bytes(43, config);
  return module;
}

class NativeKernelTest : public ::testing::Test {
 protected:
  GraphIdentity Identify(const ProtoMessage& module) {
    IdentifyOptions options;
    options.file_digest = [this](absl::string_view path) -> absl::StatusOr<Digest> {
      ++reads_;
      const auto file = files_.find(std::string(path));
      if (file == files_.end()) return absl::NotFoundError("no such file");
      return Sha256Of(file->second);
    };
    return IdentifyGraph(Serialize(module), options).value();
  }

  std::map<std::string, std::string> files_;
  int reads_ = 0;
};

TEST_F(NativeKernelTest, LongConfigsOfOneSizeAreToldApart) {
  files_ = {{"/a/k.klir", "code"}, {"/b/l.klir", "other"}};
  const auto config = [](char fill, absl::string_view path) {
    return absl::Base64Escape(absl::StrCat(R"({"func_name": ")", std::string(5000, fill),
                                           R"(", "klir_binary": {"binary": ")", path, "\"}}"));
  };
  const auto fingerprint = [&](const std::string& first, const std::string& second) {
    ProtoMessage module = SmallModule();
    InstructionAt(module, 0, 2).Bytes(28, kTarget).Bytes(43, first);
    InstructionAt(module, 0, 3).Bytes(28, kTarget).Bytes(43, second);
    const GraphIdentity identity = Identify(module);
    EXPECT_EQ(identity.raw_reason, "");
    EXPECT_TRUE(identity.cacheable()) << identity.uncacheable_reason;
    return identity.fingerprint;
  };
  const Fingerprint base = fingerprint(config('x', "/a/k.klir"), config('x', "/a/k.klir"));
  EXPECT_NE(fingerprint(config('x', "/a/k.klir"), config('x', "/b/l.klir")), base);
  EXPECT_NE(fingerprint(config('x', "/a/k.klir"), config('y', "/a/k.klir")), base);
}

TEST_F(NativeKernelTest, ContentStandsForThePath) {
  files_ = {{"/a/k.klir", "code"},
            {"/b/c/k.klir", "code"},
            {"/a/edited/k.klir", "other"},
            {"/a/other.klir", "code"}};
  const GraphIdentity base = Identify(Calling(Config("/a/k.klir")));
  EXPECT_TRUE(base.cacheable()) << base.uncacheable_reason;
  EXPECT_EQ(base.raw_reason, "");
  EXPECT_EQ(Identify(Calling(Config("/b/c/k.klir"))).fingerprint, base.fingerprint);
  EXPECT_NE(Identify(Calling(Config("/a/edited/k.klir"))).fingerprint, base.fingerprint);
  EXPECT_NE(Identify(Calling(Config("/a/other.klir"))).fingerprint, base.fingerprint);
  files_["/a/k.klir"] = "changed behind the path";
  EXPECT_NE(Identify(Calling(Config("/a/k.klir"))).fingerprint, base.fingerprint);
}

TEST_F(NativeKernelTest, MembersAreSortedAndKept) {
  files_ = {{"/a/k.klir", "code"}};
  const auto identify = [&](const std::string& json) {
    const GraphIdentity identity = Identify(Calling(absl::Base64Escape(json)));
    EXPECT_TRUE(identity.cacheable()) << json << identity.uncacheable_reason;
    return identity.fingerprint;
  };
  const Fingerprint base = identify(R"({"a": 1, "klir_binary": {"binary": "/a/k.klir"}})");
  EXPECT_EQ(identify(R"({ "klir_binary":{"binary":"\/a\/k.klir"} ,"a":1})"), base);
  EXPECT_NE(identify(R"({"a": 2, "klir_binary": {"binary": "/a/k.klir"}})"), base);
  EXPECT_NE(identify(R"({"a": 1.0, "klir_binary": {"binary": "/a/k.klir"}})"), base);
  EXPECT_NE(identify(R"({"a": "1", "klir_binary": {"binary": "/a/k.klir"}})"), base);
  EXPECT_NE(identify(R"({"a": [1], "klir_binary": {"binary": "/a/k.klir"}})"), base);
  EXPECT_NE(identify(R"({"a": null, "klir_binary": {"binary": "/a/k.klir"}})"), base);
  EXPECT_NE(identify(R"({"b": 1, "klir_binary": {"binary": "/a/k.klir"}})"), base);
  EXPECT_NE(identify(R"({"a": true})"), identify(R"({"a": false})"));
  EXPECT_NE(identify(R"({"a": [[1], 2]})"), identify(R"({"a": [[1, 2]]})"));
  EXPECT_NE(identify(R"({"a": [], "b": {}})"), identify(R"({"a": {}, "b": []})"));
  // Numbers that a double cannot tell apart.
  EXPECT_NE(identify(R"({"a": 1.00000000000000000001})"),
            identify(R"({"a": 1.00000000000000000002})"));
  EXPECT_NE(identify(R"({"a": 36893488147419103232})"), identify(R"({"a": 36893488147419103233})"));
}

TEST_F(NativeKernelTest, WhatCannotBeCoveredIsUncacheable) {
  files_ = {{"/a/k.klir", "code"}};
  const auto reason = [&](const std::string& config) {
    const GraphIdentity identity = Identify(Calling(config));
    EXPECT_FALSE(identity.cacheable()) << config;
    return identity.uncacheable_reason;
  };
  EXPECT_THAT(reason(Config("/kernels/missing.klir")),
              HasSubstr("/kernels/missing.klir cannot be read"));
  EXPECT_THAT(reason(Config("relative/k.klir")), HasSubstr("is no absolute path"));
  EXPECT_THAT(reason(Config("")), HasSubstr("is no absolute path"));
  EXPECT_THAT(reason("%%%"), HasSubstr("not base64"));
  EXPECT_THAT(reason(absl::Base64Escape("not json")), HasSubstr("not JSON"));
  EXPECT_THAT(reason(absl::Base64Escape(R"({"a": 1)")), HasSubstr("not JSON"));
  EXPECT_THAT(reason(absl::Base64Escape(R"({"a": 1, "a": 2})")), HasSubstr("twice"));
  EXPECT_THAT(reason(absl::Base64Escape(R"({"weights": "/data/w.npy"})")),
              HasSubstr("member weights may name a file"));
  EXPECT_THAT(reason(absl::Base64Escape(R"({"x": [{"y": "dir/k.klir"}]})")), HasSubstr("x.[].y"));
  EXPECT_THAT(reason(absl::Base64Escape(R"({"x": "s3://bucket/k"})")),
              HasSubstr("may name a file"));
  EXPECT_THAT(reason(absl::Base64Escape(R"({"/tmp/k": 1})")), HasSubstr("may name a file"));
  EXPECT_THAT(reason(absl::Base64Escape(R"({"x": "{\"binary\": \"/tmp/k\"}"})")),
              HasSubstr("may name a file"));
  EXPECT_THAT(reason(absl::Base64Escape(std::string(100, '[') + std::string(100, ']'))),
              HasSubstr("too deep"));
}

TEST_F(NativeKernelTest, WithoutAReaderNothingIsCacheable) {
  const GraphIdentity identity = IdentifyGraph(Serialize(Calling(Config("/a/k.klir")))).value();
  EXPECT_THAT(identity.uncacheable_reason, HasSubstr("/a/k.klir, which does not travel"));
  // The configuration is covered all the same.
  EXPECT_NE(identity.fingerprint,
            IdentifyGraph(Serialize(Calling(Config("/a/l.klir"))))->fingerprint);
}

TEST_F(NativeKernelTest, OneKernelIsReadOnce) {
  files_ = {{"/a/k.klir", "code"}};
  ProtoMessage module = Calling(Config("/a/k.klir"));
  InstructionAt(module, 0, 2).Bytes(28, kTarget).Bytes(43, Config("/a/k.klir"));
  EXPECT_TRUE(Identify(module).cacheable());
  EXPECT_EQ(reads_, 1);
}

TEST_F(NativeKernelTest, OtherCallsAreKeptVerbatim) {
  EXPECT_TRUE(Identify(Calling("/not/a/kernel", "AwsNeuronTopK")).cacheable());
  EXPECT_NE(Identify(Calling("/a", "AwsNeuronTopK")).fingerprint,
            Identify(Calling("/b", "AwsNeuronTopK")).fingerprint);
  EXPECT_TRUE(Identify(Calling("x", "AwsNeuronCustomOp")).cacheable());
  EXPECT_FALSE(Identify(Calling("/lib/op.so", "AwsNeuronCustomOp")).cacheable());
  EXPECT_FALSE(
      Identify(Calling(absl::Base64Escape("/lib/op.so"), "AwsNeuronCustomOp")).cacheable());
}

// A module that is opaque still names its kernels by path.
TEST_F(NativeKernelTest, OpaqueModulesCoverTheirKernels) {
  files_ = {{"/a/k.klir", "code"}};
  ProtoMessage module = Calling(Config("/a/k.klir"));
  module.Varint(1000, 1);
  const GraphIdentity before = Identify(module);
  EXPECT_EQ(before.fingerprint.tag, "neffcache-raw-1");
  EXPECT_TRUE(before.cacheable()) << before.uncacheable_reason;
  files_["/a/k.klir"] = "changed";
  EXPECT_NE(Identify(module).fingerprint, before.fingerprint);
  files_.clear();
  EXPECT_FALSE(Identify(module).cacheable());
  // Where not even the calls can be found, there is nothing to go by.
  const std::string bytes = absl::StrCat("ML\xefR", "...", kTarget, "...");
  EXPECT_FALSE(IdentifyGraph(bytes)->cacheable());
  InstructionAt(module, 0, 3).Varints(36, {77});
  EXPECT_FALSE(Identify(module).cacheable());
}

TEST(LooksLikePathTest, ErrsTowardsPaths) {
  for (const char* text : {"/a", "/a/b.klir", "./x", "../x", "~/x", "s3://b/k", "file:x", "k.klir",
                           "dir/k.NEFF", "a=/x/y", "{\"p\":\"/x/y\"}", "see /tmp/k now"}) {
    EXPECT_TRUE(LooksLikePath(text)) << text;
  }
  for (const char* text : {"", "flash_fwd", "a/b", "1/2", "tensor<2x3xf32>", "jit(f)/dot", "/"}) {
    EXPECT_FALSE(LooksLikePath(text)) << text;
  }
}

}  // namespace
}  // namespace neffcache
