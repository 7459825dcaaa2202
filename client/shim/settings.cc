#include "client/shim/settings.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/wait_time.h"

namespace neffcache::shim {
namespace {

bool IsOn(absl::string_view value) {
  return !value.empty() && value != "0";
}

}  // namespace

Settings ReadSettings(absl::FunctionRef<const char*(const char*)> get) {
  const auto value = [&](const char* name) {
    const char* text = get(name);
    return std::string(text == nullptr ? "" : text);
  };
  Settings settings;
  settings.disabled = IsOn(value("NEFFCACHE_DISABLE"));
  settings.verbose = IsOn(value("NEFFCACHE_VERBOSE"));
  if (std::string daemon = value("NEFFCACHE_DAEMON"); !daemon.empty()) settings.daemon = daemon;
  settings.bundle = value("NEFFCACHE_BUNDLE");
  settings.toolchain_version = value("NEFFCACHE_TOOLCHAIN_VERSION");
  if (!absl::SimpleAtoi(value(kDepthVariable), &settings.depth)) settings.depth = 0;
  const auto complain = [&settings](auto... what) {
    absl::StrAppend(&settings.complaint, settings.complaint.empty() ? "" : "; ", what...);
  };
  if (const std::string wait = value("NEFFCACHE_WAIT"); !wait.empty()) {
    const absl::optional<absl::Duration> parsed = ParseWaitTime(wait);
    if (parsed.has_value() && *parsed > absl::ZeroDuration()) {
      settings.wait = *parsed;
    } else {
      complain("NEFFCACHE_WAIT=", wait, " is not a positive duration such as 90s or 2h; ",
               "waiting at most ", WaitTimeText(settings.wait));
    }
  }
  if (const std::string reconnect = value("NEFFCACHE_RECONNECT"); !reconnect.empty()) {
    const absl::optional<absl::Duration> parsed = ParseWaitTime(reconnect);
    if (parsed.has_value()) {
      settings.reconnect = *parsed;
    } else {
      complain("NEFFCACHE_RECONNECT=", reconnect, " is not a duration such as 30s or 0; waiting ",
               WaitTimeText(settings.reconnect), " for a daemon that goes away");
    }
  }
  return settings;
}

}  // namespace neffcache::shim
