#include "config/config_sections.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace neffcache {
namespace {

class ConfigSectionsTest : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("NEFFCACHE_CONFIG"); }

  std::string Write(const std::string& text) const {
    std::ofstream(path_) << text;
    return path_;
  }

  // What neffcached says of a config file; empty: it takes it.
  std::string Read(const std::string& file) {
    CLI::App app("", "neffcached");
    app.add_option("--data-dir", data_dir_);
    app.add_flag("--rebuild-index", rebuild_)->configurable(false);
    app.add_subcommand("ls")->add_option("--limit", limit_);
    AddConfigOption(app);
    ReadOwnConfigSection(app, "neffcached");
    const char* const arguments[] = {"neffcached", "--config", file.c_str()};
    try {
      app.parse(3, arguments);
    } catch (const CLI::ParseError& error) {
      return ParseErrorText(app, error);
    }
    return "";
  }

  const std::string path_ =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string data_dir_;
  std::string limit_;
  bool rebuild_ = false;
};

TEST_F(ConfigSectionsTest, OwnKeysAreTakenAndThoseOfOtherProgramsAreNot) {
  EXPECT_EQ(Read(Write("[neffcached]\ndata-dir = /d\n[neffcache-worker]\nslots = 8\n"
                       "[neffcached.ls]\nlimit = 5\n")),
            "");
  EXPECT_EQ(data_dir_, "/d");
  EXPECT_EQ(limit_, "5");
}

TEST_F(ConfigSectionsTest, AnUnknownKeyIsToldWithItsFileAndSection) {
  EXPECT_EQ(Read(Write("[neffcached]\nnope = 1\n")),
            "reading config " + path_ + ": \"nope\" in [neffcached] is unknown");
}

TEST_F(ConfigSectionsTest, AllThatIsUnknownIsToldAtOnce) {
  EXPECT_EQ(Read(Write("[neffcached]\nnope = 1\ndata-dir = /d\n[neffcached.ls]\nlimt = 2\n"
                       "[neffcachd]\ndata-dir = /d\nslots = 2\n")),
            "reading config " + path_ +
                ": \"nope\" in [neffcached] is unknown; \"limt\" in [neffcached.ls] is unknown; "
                "section [neffcachd] is unknown");
}

TEST_F(ConfigSectionsTest, AKeyOfAnotherProgramBeforeAnySectionIsExplained) {
  EXPECT_EQ(Read(Write("daemon = cache:7433\n[neffcached]\ndata-dir = /d\n")),
            "reading config " + path_ +
                ": \"daemon\" is unknown to neffcached (what stands before any section goes to "
                "every program)");
}

TEST_F(ConfigSectionsTest, WhatOnlyTheCommandLineMaySayIsNotUnknown) {
  EXPECT_EQ(Read(Write("[neffcached]\nrebuild-index = true\n")),
            "reading config " + path_ + ": \"rebuild-index\" is for the command line only");
}

TEST_F(ConfigSectionsTest, AFileThatCannotBeReadIsToldWithTheReason) {
  EXPECT_EQ(Read("/no/such.conf"), "reading config /no/such.conf: No such file or directory");
  std::filesystem::create_directory(path_);
  EXPECT_EQ(Read(path_), "reading config " + path_ + ": it is a directory");
  std::filesystem::remove(path_);
}

TEST_F(ConfigSectionsTest, TheFileThatTheEnvironmentNamesIsToldToo) {
  CLI::App app("", "neffcached");
  setenv("NEFFCACHE_CONFIG", "/no/such.conf", 1);
  AddConfigOption(app);
  unsetenv("NEFFCACHE_CONFIG");
  ReadOwnConfigSection(app, "neffcached");
  const char* const arguments[] = {"neffcached"};
  std::string text;
  try {
    app.parse(1, arguments);
  } catch (const CLI::ParseError& error) {
    text = ParseErrorText(app, error);
  }
  EXPECT_EQ(text, "reading config /no/such.conf: No such file or directory");
}

TEST_F(ConfigSectionsTest, AMistakeOnTheCommandLineIsNotTheFiles) {
  CLI::App app("", "neffcached");
  AddConfigOption(app);
  const char* const arguments[] = {"neffcached", "--nope"};
  std::string text;
  try {
    app.parse(2, arguments);
  } catch (const CLI::ParseError& error) {
    text = ParseErrorText(app, error);
  }
  EXPECT_NE(text.find("reading the command line: "), std::string::npos) << text;
  EXPECT_NE(text.find("--nope"), std::string::npos) << text;
  EXPECT_NE(text.find("(see neffcached --help)"), std::string::npos) << text;
}

}  // namespace
}  // namespace neffcache
