#include "local_compiler/version_text.h"

#include <gtest/gtest.h>

namespace neffcache {
namespace {

TEST(VersionTextTest, VersionHasItsBuildHashWhateverStandsAroundIt) {
  EXPECT_EQ(ParseNeuronxCcVersion("a warning\nNeuronX Compiler version 2.14.227.0+2d4f85be\r\n\n"
                                  "Python version 3.10.12\n"),
            "2.14.227.0+2d4f85be");
}

TEST(VersionTextTest, WhatLooksLikeNoVersionIsNone) {
  EXPECT_EQ(ParseXlaCpuVersion(""), "");
  EXPECT_EQ(ParseXlaCpuVersion("xla-cpu \n"), "");
  EXPECT_EQ(ParseXlaCpuVersion("error: no JAX\n"), "");
  EXPECT_EQ(ParseXlaCpuVersion("a warning\nxla-cpu 0.4.38+jaxlib\r\n"), "0.4.38+jaxlib");
  EXPECT_EQ(ParseNeuronxCcVersion(""), "");
  EXPECT_EQ(ParseNeuronxCcVersion("Python version 3.10.12"), "");
  EXPECT_EQ(ParseNeuronxCcVersion("NeuronX Compiler version \n"), "");
  EXPECT_EQ(ParseNeuronxCcVersion("NeuronX Compiler version unknown\n"), "");
  EXPECT_EQ(ParseNeuronxCcVersion("NeuronX Compiler version 2.14 or so\n"), "");
}

}  // namespace
}  // namespace neffcache
