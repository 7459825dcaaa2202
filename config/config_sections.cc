#include "config/config_sections.h"

#include <unistd.h>

#include <CLI/Config.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <istream>
#include <memory>
#include <utility>
#include <vector>

namespace neffcache {
namespace {

bool IsProgram(const std::string& section) {
  return section == "neffcached" || section == "neffcache" || section == "neffcache-worker";
}

// "++" and "--" are where CLI11 says that a section begins and ends.
bool IsBorder(const CLI::ConfigItem& item) {
  return item.name == "++" || item.name == "--";
}

class OwnSection final : public CLI::ConfigBase {
 public:
  OwnSection(const CLI::App& app, std::string program) : app_(app), program_(std::move(program)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> own;
    std::vector<std::string> mistakes;
    for (CLI::ConfigItem& item : CLI::ConfigBase::from_config(input)) {
      const std::string section = CLI::detail::join(item.parents, ".");
      if (!item.parents.empty() && IsProgram(item.parents.front())) {
        if (item.parents.front() != program_) continue;
        if (IsBorder(item) && item.parents.size() == 1) continue;
        item.parents.erase(item.parents.begin());
      }
      std::string mistake = Mistake(item, section);
      if (mistake.empty()) {
        own.push_back(std::move(item));
      } else if (std::find(mistakes.begin(), mistakes.end(), mistake) == mistakes.end()) {
        mistakes.push_back(std::move(mistake));
      }
    }
    if (!mistakes.empty()) throw CLI::ConfigError(CLI::detail::join(mistakes, "; "));
    return own;
  }

 private:
  // What is wrong with an item of the section so written; empty: nothing.
  std::string Mistake(const CLI::ConfigItem& item, const std::string& section) const {
    const CLI::App* command = &app_;
    for (const std::string& name : item.parents) {
      const std::vector<const CLI::App*> named = command->get_subcommands(
          [&name](const CLI::App* candidate) { return candidate->get_name() == name; });
      if (named.empty()) return "section [" + section + "] is unknown";
      command = named.front();
    }
    if (IsBorder(item)) return "";
    const CLI::Option* option = command->get_option_no_throw("--" + item.name);
    if (option == nullptr && item.name.size() == 1) {
      option = command->get_option_no_throw("-" + item.name);
    }
    if (option == nullptr) option = command->get_option_no_throw(item.name);
    const std::string key = "\"" + item.name + "\"";
    if (option != nullptr) {
      return option->get_configurable() ? "" : key + " is for the command line only";
    }
    return section.empty() ? key + " is unknown to " + program_ +
                                 " (what stands before any section goes to every program)"
                           : key + " in [" + section + "] is unknown";
  }

  const CLI::App& app_;
  const std::string program_;
};

// Why a file cannot be read.
std::string WhyUnreadable(const std::string& file) {
  if (std::filesystem::is_directory(file)) return "it is a directory";
  return access(file.c_str(), R_OK) == 0 ? "it cannot be read" : std::strerror(errno);
}

}  // namespace

void ReadOwnConfigSection(CLI::App& app, const std::string& program) {
  app.config_formatter(std::make_shared<OwnSection>(app, program));
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

std::string ParseErrorText(const CLI::App& app, const CLI::ParseError& error) {
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  const bool unreadable = dynamic_cast<const CLI::FileError*>(&error) != nullptr;
  if (unreadable || dynamic_cast<const CLI::ConfigError*>(&error) != nullptr) {
    const auto file = app.get_config_ptr()->as<std::string>();
    return "reading config " + file + ": " + (unreadable ? WhyUnreadable(file) : what);
  }
  return "reading the command line: " + what + " (see " + app.get_name() + " --help)";
}

}  // namespace neffcache
