#include "graph/fingerprint.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/encoding.h"
#include "graph/graph_form.h"
#include "graph/hlo_index.h"
#include "graph/module_description.h"
#include "graph/native_kernel.h"
#include "graph/opened_graph.h"
#include "graph/wire.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

constexpr absl::string_view kRawTag = "neffcache-raw-1";
constexpr absl::string_view kNativeKernelTarget = "AwsNeuronCustomNativeKernel";

// The content of kernel files that an opaque module names: its bytes hold paths only.
// False when the files cannot be told; `kernels` knows why then.
bool DescribeKernels(const HloIndex& index, NativeKernels& kernels, Encoding* out) {
  constexpr uint32_t kBackendConfig = 43;
  for (const InstructionRecord& instruction : index.instructions) {
    if (!instruction.is_native_kernel) continue;
    if (instruction.has_payload) {
      kernels.Refuse("a kernel's configuration stands in the payload table of an opaque module");
      return false;
    }
    absl::string_view config;
    WireReader reader(instruction.bytes);
    for (WireField field; reader.Next(&field);) {
      if (field.number == kBackendConfig && field.type == WireType::kBytes) config = field.bytes;
    }
    std::string canonical;
    if (!kernels.Describe(config, &canonical)) return false;
    out->PutBlob(canonical);
  }
  return true;
}

// The bytes themselves, and the content of kernel files they name.
Digest RawDigest(absl::string_view bytes, absl::string_view kernels) {
  Encoding head;
  head.PutBlob(kRawTag);
  head.PutVarint(bytes.size());
  Sha256 hash;
  hash.Update(head.view());
  hash.Update(bytes);
  hash.Update(kernels);
  return hash.Finish();
}

void IdentifyRaw(absl::string_view bytes, const HloIndex* index, NativeKernels& kernels,
                 GraphIdentity* identity) {
  Encoding kernel_files;
  if (index != nullptr) {
    DescribeKernels(*index, kernels, &kernel_files);
  } else if (bytes.find(kNativeKernelTarget) != absl::string_view::npos) {
    kernels.Refuse("it calls NKI kernels, and the files they are in cannot be told");
  }
  identity->fingerprint = {std::string(kRawTag), RawDigest(bytes, kernel_files.view())};
}

void IdentifyHlo(absl::string_view bytes, const RecognizedGraph& graph, GraphOrder order,
                 NativeKernels& kernels, GraphIdentity* identity) {
  absl::StatusOr<HloIndex> index = IndexModule(graph.module);
  if (!index.ok()) {
    identity->raw_reason = std::string(index.status().message());
    identity->cut_short = absl::IsDataLoss(index.status());
    IdentifyRaw(bytes, nullptr, kernels, identity);
    return;
  }
  identity->computations = index->computations.size();
  identity->instructions = index->instructions.size();
  identity->name = index->name;
  if (!graph.opaque_reason.empty()) {
    identity->raw_reason = graph.opaque_reason;
    identity->cut_short = graph.cut_short;
    IdentifyRaw(bytes, &*index, kernels, identity);
    return;
  }
  const absl::StatusOr<DescriptionDigests> digests = DescribeModule(*index, order, kernels);
  if (!digests.ok()) {
    identity->raw_reason = std::string(digests.status().message());
    IdentifyRaw(bytes, &*index, kernels, identity);
    return;
  }
  identity->fingerprint = {std::string(DescriptionTag(order)), digests->description};
  identity->dropped = digests->dropped;
}

}  // namespace

absl::string_view ToString(GraphForm form) {
  switch (form) {
    case GraphForm::kHloModule:
      return "HloModuleProto";
    case GraphForm::kHloProto:
      return "HloProto";
    case GraphForm::kHloSnapshot:
      return "HloSnapshot";
    case GraphForm::kMlirBytecode:
      return "MLIR bytecode";
    case GraphForm::kOpaque:
      return "opaque";
  }
  return "opaque";
}

std::string ToString(const Fingerprint& fingerprint) {
  return absl::StrCat(fingerprint.tag, ":", fingerprint.digest.Hex());
}

bool IsKnownTag(absl::string_view tag) {
  return tag == kRawTag || tag == DescriptionTag(GraphOrder::kCanonical) ||
         tag == DescriptionTag(GraphOrder::kExact);
}

absl::StatusOr<GraphIdentity> IdentifyGraph(absl::string_view bytes,
                                            const IdentifyOptions& options) {
  if (bytes.empty()) return absl::InvalidArgumentError("the graph is empty");
  OpenedGraph opened;
  RETURN_IF_ERROR(OpenGraph(bytes, options, &opened));
  const absl::string_view graph_bytes = opened.bytes;
  GraphIdentity identity;
  NativeKernels kernels(opened.options);
  const RecognizedGraph graph = RecognizeGraph(graph_bytes);
  identity.form = graph.form;
  if (graph.module.empty()) {
    IdentifyRaw(graph_bytes, nullptr, kernels, &identity);
  } else {
    IdentifyHlo(graph_bytes, graph, options.order, kernels, &identity);
  }
  identity.uncacheable_reason = kernels.uncacheable_reason();
  identity.files = kernels.files();
  if (opened.packed_files > identity.files.size() && identity.cacheable()) {
    return absl::DataLossError("the graph pack has files that its graph does not name");
  }
  return identity;
}

}  // namespace neffcache
