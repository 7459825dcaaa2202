// libFuzzer: no bytes, whatever they are, make the NEFF check misbehave, and none that it lets pass
// state another size than they have.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "compiler_driver/neff.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = neffcache::CheckNeff(bytes.substr(0, neffcache::kNeffPrefixSize), size);
  if (header.ok() && header->data_size + neffcache::NeffHeader::kSize != size) abort();
  return 0;
}
