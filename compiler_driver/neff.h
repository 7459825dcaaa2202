#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace neffcache {

// The fixed header of a NEFF, the Neuron compiler's output. Little-endian, naturally aligned:
//
//   offset  size  field
//        0     8  pkg_version          packager version
//        8     8  header_size          1024
//       16     8  data_size            bytes after the header
//       24     8  neff_version_major   1 or 2
//       32     8  neff_version_minor
//       40   128  neff_build_version   text
//      168     4  num_tpb
//      172    32  hash                 algorithm depends on pkg_version; not published, not checked
//      204    16  uuid                 differs between two compiles of one graph
//      220   256  name                 text
//      476     4  requested_tpb_count
//      480    64  tpb_per_node
//      544     8  feature_bits
//      552     4  lnc_size             logical core size; 0: not stated
//      556   468  padding
//     1024        tar, gzip-compressed or plain
struct NeffHeader {
  static constexpr uint64_t kSize = 1024;

  uint64_t pkg_version = 0;
  uint64_t data_size = 0;  // In bytes.
  uint64_t version_major = 0;
  uint64_t version_minor = 0;
  std::string build_version;
  std::array<uint8_t, 16> uuid = {};
  std::string name;
  uint64_t feature_bits = 0;
  uint32_t lnc_size = 0;
};

// Bytes that CheckNeff wants to see: the header and the first block of the tar.
inline constexpr uint64_t kNeffPrefixSize = NeffHeader::kSize + 512;

// Checks a NEFF of `file_size` bytes by its first ones (at least kNeffPrefixSize of them where it
// has so many): header and file size agree, the version is known, the payload begins like gzip or
// tar, the uuid is not zero. A file that was cut off or never written to its end does not pass.
// DATA_LOSS naming the first thing that is wrong. Pure.
absl::StatusOr<NeffHeader> CheckNeff(absl::string_view prefix, uint64_t file_size);

// The same for a file. Errors of reading it keep their own codes.
absl::StatusOr<NeffHeader> CheckNeffFile(const std::string& path);

}  // namespace neffcache
