#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/fingerprint.h"
#include "io/digest.h"

namespace neffcache {

// The identity of a compile; 64 hex digits wherever people see it.
using Key = Sha256Name<struct KeyTag>;

// A compiler and its full version, e.g. {"neuronx-cc", "2.27.5334.0+2d4f85be"}.
struct Toolchain {
  std::string name;
  std::string version;

  friend bool operator==(const Toolchain&, const Toolchain&) = default;
};

// "neuronx-cc 2.27.5334.0+2d4f85be", for messages.
std::string ToString(const Toolchain& toolchain);

// All that a key covers. The daemon computes the key from this and never takes a client's word for
// it.
struct KeyMaterial {
  Fingerprint fingerprint;
  std::vector<std::string> options;  // As NormalizeOptions gives them: canonical, order kept.
  Toolchain toolchain;

  friend bool operator==(const KeyMaterial&, const KeyMaterial&) = default;
};

// SHA-256 over the scheme tag "neffcache-key-1" and every part, typed and length-prefixed, so that
// no two different materials share an encoding. The encoding is written down in
// docs/formats/keys.md.
Key ComputeKey(const KeyMaterial& material);

}  // namespace neffcache
