#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/digest.h"

namespace neffcache {

// What a graph's bytes turned out to be, by structure and not by file name.
enum class GraphForm {
  kHloModule,     // xla.HloModuleProto
  kHloProto,      // xla.HloProto: a module and its buffer assignment
  kHloSnapshot,   // xla.HloSnapshot: a module inside an HloProto, with arguments
  kMlirBytecode,  // Begins with "ML\xefR": StableHLO portable artifacts and other MLIR.
  kOpaque,        // Anything else.
};

// "HloModuleProto", "MLIR bytecode", ...
absl::string_view ToString(GraphForm form);

// How instructions and computations are numbered before they are hashed.
enum class GraphOrder {
  kCanonical,  // By structure: a module written in another order is the same graph.
  kExact,      // As written: for people who need the artifact of precisely this order.
};

// SHA-256 of a graph's canonical form. The tag names every rule that went into it, so that equal
// digests under different tags mean nothing: "neffcache-hlo-1", "neffcache-hlo-1-exact",
// "neffcache-raw-1".
struct Fingerprint {
  std::string tag;
  Digest digest;

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// "neffcache-hlo-1:3f2a...", the form in which people see it.
std::string ToString(const Fingerprint& fingerprint);

// Whether IdentifyGraph() gives fingerprints with this tag: others are of rules that this program
// does not know.
bool IsKnownTag(absl::string_view tag);

// A file that a graph names and that its fingerprint covers.
struct KernelFile {
  std::string path;  // As it stands in the graph: absolute.
  Digest digest;     // Of the content, which stands for the path in the fingerprint.

  friend bool operator==(const KernelFile&, const KernelFile&) = default;
};

// What is learned from reading a graph once.
struct GraphIdentity {
  Fingerprint fingerprint;
  GraphForm form = GraphForm::kOpaque;

  // Why the raw bytes were hashed although the form is HLO, e.g. "instruction field 101 is unknown"
  // or "operand 7 of add.3 does not exist". Empty otherwise.
  std::string raw_reason;
  // That reason is that the module's bytes are damaged or end too early: no compiler takes them.
  bool cut_short = false;

  // Why the compile must not be cached, e.g. a kernel file that cannot be read. Empty: it may be.
  std::string uncacheable_reason;

  // The files that the graph names, each once, in the order in which they were met. All of them
  // travel with the compile (graph/graph_pack.h). Meaningless when the compile is uncacheable.
  std::vector<KernelFile> files;

  // SHA-256 of what the canonical form leaves out and could still show in an artifact: module name,
  // entry parameter names, metadata. Two graphs with one fingerprint and two of these differ in
  // debug data only.
  Digest dropped;

  // Size, for the expectation of compile time and memory; 0 where the form is not HLO.
  uint64_t computations = 0;
  uint64_t instructions = 0;
  std::string name;  // The module's name, for people only; empty when unknown.

  bool cacheable() const { return uncacheable_reason.empty(); }
};

struct IdentifyOptions {
  GraphOrder order = GraphOrder::kCanonical;

  // Digest of the file behind an absolute path named inside the graph (NKI kernels), asked for once
  // for each path, and only for those that may travel. Empty: no file can be read, and a graph that
  // names one is uncacheable. Not asked for a graph in a pack, which has the files with it.
  std::function<absl::StatusOr<Digest>(absl::string_view path)> file_digest;

  // Bytes that gzip or zstd wrapping may unfold to; more is RESOURCE_EXHAUSTED.
  uint64_t unwrap_limit = uint64_t{8} << 30;
};

// Identifies a graph from its bytes (a pack, gzip and zstd are unwrapped first). Pure, linear in
// the size, bounded in depth and memory whatever the bytes are; safe to call from any thread.
//
// Errors: INVALID_ARGUMENT for an empty graph, RESOURCE_EXHAUSTED for a decompression bomb,
// DATA_LOSS for a damaged wrapper or pack, or one with files that its graph does not name. A
// malformed or unknown module is no error: its raw bytes are hashed under a tag of their own.
absl::StatusOr<GraphIdentity> IdentifyGraph(absl::string_view bytes,
                                            const IdentifyOptions& options = {});

}  // namespace neffcache
