#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace neffcache {

// A graph and the kernel files that it names, as one sequence of bytes: what is sent, kept and
// compiled in place of a graph that is not self-contained. docs/formats/keys.md has the grammar.
// The graph itself stands in it exactly as its front end wrote it.

// Bounds of what may travel. A graph that names more is uncacheable.
inline constexpr size_t kMaxKernelFiles = 64;
inline constexpr uint64_t kMaxKernelFileBytes = uint64_t{64} << 20;

struct PackedFile {
  std::string path;         // As the graph names it: absolute.
  absl::string_view bytes;  // Of the pack.
};

// Views of the bytes it was read from, which must outlive it.
struct GraphPack {
  std::vector<PackedFile> files;
  absl::string_view graph;
};

// Whether the bytes claim to be a pack. No protobuf message begins as one does.
bool IsGraphPack(absl::string_view bytes);

// DATA_LOSS for what is no well-formed pack within the bounds above, names a file twice, or names
// one that CheckKernelPath refuses. Nothing in a pack that this takes leads out of a directory.
absl::StatusOr<GraphPack> ReadGraphPack(absl::string_view bytes);

// The bytes that stand before the files' contents, which follow in the same order, and the graph's.
std::string GraphPackHead(absl::Span<const PackedFile> files);

// The last part of a path.
absl::string_view KernelFileName(absl::string_view path);
// The last two parts, "DIRECTORY/NAME": where a compiler looks, below the directory that it runs
// in, for a file that is not at its absolute path (AWS's page on NCC_EVRF059).
absl::string_view KernelFilePlace(absl::string_view path);

// INVALID_ARGUMENT, with a clause, for a path that is not absolute or has no directory, or whose
// last two parts cannot be laid out below a compiler's directory: they have unusual characters, are
// names that compilers and workers use themselves, or that an interpreter would load as code.
absl::Status CheckKernelPath(absl::string_view path);

}  // namespace neffcache
