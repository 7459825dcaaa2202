#include "graph/command_line.h"

namespace neffcache {

bool CommandLine::IsPlainCompile() const {
  return subcommand == "compile" && inputs.size() == 1 && !output.empty();
}

CommandLine ParseCommandLine(absl::Span<const std::string> arguments) {
  CommandLine line;
  line.flags.assign(arguments.begin(), arguments.end());
  return line;
}

}  // namespace neffcache
