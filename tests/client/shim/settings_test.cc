#include "client/shim/settings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace neffcache::shim {
namespace {

Settings Read(const std::map<std::string, std::string>& environment) {
  return ReadSettings([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(SettingsTest, AnEmptyEnvironmentGivesTheDefaults) {
  const Settings settings = Read({});
  EXPECT_FALSE(settings.disabled);
  EXPECT_FALSE(settings.verbose);
  EXPECT_EQ(settings.daemon, "127.0.0.1:7433");
  EXPECT_EQ(settings.wait, absl::Hours(2));
  EXPECT_EQ(settings.reconnect, absl::Seconds(60));
  EXPECT_EQ(settings.depth, 0);
  EXPECT_EQ(settings.complaint, "");
}

TEST(SettingsTest, EveryVariableIsFollowed) {
  const Settings settings = Read({{"NEFFCACHE_DISABLE", "1"},
                                  {"NEFFCACHE_VERBOSE", "yes"},
                                  {"NEFFCACHE_DAEMON", "cache:1"},
                                  {"NEFFCACHE_BUNDLE", "bert"},
                                  {"NEFFCACHE_WAIT", "90s"},
                                  {"NEFFCACHE_RECONNECT", "0"},
                                  {"NEFFCACHE_TOOLCHAIN_VERSION", "2.27.1"},
                                  {"NEFFCACHE_SHIM_DEPTH", "2"}});
  EXPECT_TRUE(settings.disabled);
  EXPECT_TRUE(settings.verbose);
  EXPECT_EQ(settings.daemon, "cache:1");
  EXPECT_EQ(settings.bundle, "bert");
  EXPECT_EQ(settings.wait, absl::Seconds(90));
  EXPECT_EQ(settings.reconnect, absl::ZeroDuration());
  EXPECT_EQ(settings.toolchain_version, "2.27.1");
  EXPECT_EQ(settings.depth, 2);
}

TEST(SettingsTest, ZeroAndEmptyDoNotDisable) {
  EXPECT_FALSE(Read({{"NEFFCACHE_DISABLE", "0"}}).disabled);
  EXPECT_FALSE(Read({{"NEFFCACHE_DISABLE", ""}}).disabled);
}

TEST(SettingsTest, ABareNumberIsSeconds) {
  EXPECT_EQ(Read({{"NEFFCACHE_WAIT", "2.5"}}).wait, absl::Milliseconds(2500));
}

TEST(SettingsTest, AWaitThatIsNoDurationIsComplainedOfAndNotFollowed) {
  for (const char* bad : {"soon", "-1s", "0", "nan"}) {
    const Settings settings = Read({{"NEFFCACHE_WAIT", bad}});
    EXPECT_EQ(settings.wait, absl::Hours(2)) << bad;
    EXPECT_NE(settings.complaint.find(bad), std::string::npos) << settings.complaint;
  }
}

TEST(SettingsTest, EveryBadValueIsComplainedOf) {
  const Settings settings = Read({{"NEFFCACHE_WAIT", "soon"}, {"NEFFCACHE_RECONNECT", "later"}});
  EXPECT_EQ(settings.complaint,
            "NEFFCACHE_WAIT=soon is not a positive duration such as 90s or 2h; waiting at most 2h; "
            "NEFFCACHE_RECONNECT=later is not a duration such as 30s or 0; waiting 1m for a daemon "
            "that goes away");
}

}  // namespace
}  // namespace neffcache::shim
