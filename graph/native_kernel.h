#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/fingerprint.h"
#include "io/digest.h"

namespace neffcache {

// NKI kernels reach the compiler as a custom call whose backend_config is base64 of JSON that names
// the kernel's file by absolute path. The path differs between hosts and the file behind it may
// change, so the file's digest has to stand in for it.
class NativeKernels {
 public:
  explicit NativeKernels(const IdentifyOptions& options) : options_(options) {}

  // The canonical form of such a configuration: JSON with members sorted, known paths replaced by
  // the file's name and digest. When the configuration names something that cannot be covered, this
  // returns false and uncacheable_reason() says what; the configuration is then to be kept
  // verbatim.
  bool Describe(absl::string_view backend_config, std::string* canonical);

  // For other Neuron calls, whose configuration is not known: notes that it seems to name a file.
  void NoteForeign(absl::string_view backend_config);

  // The first reason met; empty: none.
  const std::string& uncacheable_reason() const { return reason_; }
  void Refuse(std::string reason);

  // Those that were described, each once, as they were met.
  const std::vector<KernelFile>& files() const { return files_; }

 private:
  bool FileDigest(const std::string& path, Digest* digest);

  const IdentifyOptions& options_;
  std::vector<KernelFile> files_;
  absl::flat_hash_map<std::string, Digest> digests_;  // By path: many calls name one kernel.
  absl::flat_hash_map<std::string, Digest> by_name_;  // They are laid into one directory.
  std::string reason_;
};

// True for a string that a compiler might open as a file: paths, URLs, names of kernel files. Errs
// towards true.
bool LooksLikePath(absl::string_view text);

}  // namespace neffcache
