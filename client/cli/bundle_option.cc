#include <string>

#include "client/cli/command.h"

namespace neffcache::cli {

void AddBundleOption(CLI::App& command, std::string& bundle) {
  command.add_option("--bundle", bundle, "Record the keys in this bundle")
      ->check(CLI::Validator(
          [](const std::string& name) {
            return name.empty() ? std::string("the name of the bundle is empty") : std::string();
          },
          "", "bundle"));
}

}  // namespace neffcache::cli
