#pragma once

#include <string>
#include <vector>

#include "client/cli/console.h"

namespace neffcache::cli {

// The whole program but for main(): `arguments` is argv without argv[0]. Returns the exit status.
int RunProgram(std::vector<std::string> arguments, Console& console);

}  // namespace neffcache::cli
