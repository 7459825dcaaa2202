#include "client/shim/settings.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace neffcache::shim {
namespace {

bool IsOn(absl::string_view value) {
  return !value.empty() && value != "0";
}

bool ParseWait(const std::string& text, absl::Duration* wait) {
  double seconds = 0;
  absl::Duration parsed;
  if (absl::SimpleAtod(text, &seconds)) {
    if (!(seconds > 0)) return false;  // Nor a number at all.
    parsed = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, &parsed)) {
    return false;
  }
  if (parsed <= absl::ZeroDuration()) return false;
  *wait = parsed;
  return true;
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
  const std::string wait = value("NEFFCACHE_WAIT");
  if (!wait.empty() && !ParseWait(wait, &settings.wait)) {
    settings.complaint =
        absl::StrCat("NEFFCACHE_WAIT=", wait, " is not a positive duration such as 90s or 2h; ",
                     "waiting at most ", absl::FormatDuration(settings.wait));
  }
  return settings;
}

}  // namespace neffcache::shim
