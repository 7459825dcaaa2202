// Command lines, one word a line: parsing and normalizing never fail badly, and normalizing twice
// is normalizing once.

#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "graph/command_line.h"
#include "graph/options.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace neffcache;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> words = absl::StrSplit(text, '\n');
  const CommandLine line = ParseCommandLine(words);
  line.IsPlainCompile();
  for (const char* toolchain : {"neuronx-cc", "xla-cpu", "other"}) {
    const auto once = NormalizeOptions(toolchain, line.flags);
    if (!once.ok()) continue;
    const auto twice = NormalizeOptions(toolchain, once->arguments);
    if (!twice.ok() || twice->arguments != once->arguments) std::abort();
    CheckAllowedOptions(toolchain, once->arguments).IgnoreError();
  }
  return 0;
}
