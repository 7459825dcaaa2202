#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graph/fingerprint.h"
#include "neffcache/v1/cache.pb.h"

namespace neffcache {

// Sends a graph's file as `graph` pieces of one zstd stream, each at most 1 MiB, and `graph_end`.
// Memory is bounded whatever the graph's size. With kernel `files` what is sent is a pack
// (graph/graph_pack.h); they are held in memory meanwhile. A
// graph that is a pack already is sent as it is. `send` returns false when the stream is
// gone: the upload then ends early and is OK, for the stream itself says why. `on_bytes` hears how
// many bytes of the file were sent so far.
//
// Errors are of reading a file and name it. FAILED_PRECONDITION, with nothing sent: a kernel file
// is not what it was when the graph was identified.
absl::Status UploadGraph(const std::string& path, const std::vector<KernelFile>& files,
                         absl::FunctionRef<bool(const v1::CompileRequest&)> send,
                         absl::FunctionRef<void(uint64_t)> on_bytes);

}  // namespace neffcache
