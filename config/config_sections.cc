#include "config/config_sections.h"

#include <CLI/Config.hpp>
#include <cstdlib>
#include <istream>
#include <memory>
#include <utility>
#include <vector>

namespace neffcache {
namespace {

bool IsProgram(const std::string& section) {
  return section == "neffcached" || section == "neffcache" || section == "neffcache-worker";
}

class OwnSection final : public CLI::ConfigBase {
 public:
  explicit OwnSection(std::string program) : program_(std::move(program)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> own;
    for (CLI::ConfigItem& item : CLI::ConfigBase::from_config(input)) {
      if (!item.parents.empty() && IsProgram(item.parents.front())) {
        // "++" and "--" are where the section begins and ends.
        const bool is_border = item.name == "++" || item.name == "--";
        if (item.parents.front() != program_ || (is_border && item.parents.size() == 1)) continue;
        item.parents.erase(item.parents.begin());
      }
      own.push_back(std::move(item));
    }
    return own;
  }

 private:
  const std::string program_;
};

}  // namespace

void ReadOwnConfigSection(CLI::App& app, const std::string& program) {
  app.config_formatter(std::make_shared<OwnSection>(program));
  app.allow_config_extras(CLI::config_extras_mode::error);
}

void AddConfigOption(CLI::App& app) {
  // CLI11 reads a config option's environment variable too late.
  const char* file = std::getenv("NEFFCACHE_CONFIG");
  const bool named = file != nullptr && *file != '\0';
  app.set_config("--config", named ? file : "",
                 "File with these options as NAME=VALUE lines, which the programs of a node may "
                 "share: sections [neffcached], [neffcache], [neffcache-worker]. Default: "
                 "$NEFFCACHE_CONFIG.",
                 named);
}

}  // namespace neffcache
