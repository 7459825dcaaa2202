// Configurations of NKI kernels: described twice alike, and a described one is never refused.

#include <cstdint>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "graph/native_kernel.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace neffcache;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  IdentifyOptions options;
  options.file_digest = [](absl::string_view path) -> absl::StatusOr<Digest> {
    return Sha256Of(path);
  };
  for (const std::string& config : {std::string(text), absl::Base64Escape(text)}) {
    NativeKernels first(options), second(options);
    std::string a, b;
    const bool described = first.Describe(config, &a);
    if (second.Describe(config, &b) != described || a != b) std::abort();
    if (described != first.uncacheable_reason().empty()) std::abort();
  }
  return 0;
}
