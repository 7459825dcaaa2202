#include "graph/explain.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/explain/findings.h"
#include "graph/explain/module_difference.h"
#include "graph/explain/numbered_module.h"
#include "graph/explain/printable.h"
#include "graph/graph_form.h"
#include "graph/graph_pack.h"
#include "graph/module_description.h"
#include "graph/opened_graph.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

constexpr size_t kLongestSummary = 400;

// One of two graphs, as far as it is looked at the same way whatever it is.
struct Side {
  OpenedGraph graph;
  GraphIdentity identity;
};

absl::Status Open(absl::string_view bytes, const IdentifyOptions& options, Side* side) {
  RETURN_IF_ERROR(OpenGraph(bytes, options, &side->graph));
  ASSIGN_OR_RETURN(side->identity, IdentifyGraph(bytes, options));
  return absl::OkStatus();
}

// "an HloModuleProto, hashed as raw bytes (instruction field 101 is unknown)".
std::string FormText(const GraphIdentity& identity) {
  if (!identity.raw_reason.empty()) {
    return absl::StrCat(ToString(identity.form), ", hashed as raw bytes (",
                        Printable(identity.raw_reason, 90), ")");
  }
  return std::string(ToString(identity.form));
}

bool IsRaw(const GraphIdentity& identity) {
  return identity.instructions == 0 || !identity.raw_reason.empty();
}

void AddForm(std::string subject, std::string change, Findings* findings) {
  Finding finding;
  finding.kind = Difference::Kind::kForm;
  finding.subject = std::move(subject);
  finding.change = std::move(change);
  findings->Add(std::move(finding));
}

// What can be said without looking into the graphs.
void CompareForms(const Side& before, const Side& after, Findings* findings) {
  const std::string was = FormText(before.identity);
  const std::string is = FormText(after.identity);
  if (was != is) {
    AddForm("form", absl::StrCat(was, kBecomes, is), findings);
  } else if (!before.identity.raw_reason.empty()) {
    AddForm("form", absl::StrCat("both ", is), findings);
  }
  if (!IsRaw(before.identity) || !IsRaw(after.identity)) return;
  if (before.graph.bytes.size() != after.graph.bytes.size()) {
    AddForm("size",
            absl::StrCat(before.graph.bytes.size(), kBecomes, after.graph.bytes.size(), " bytes"),
            findings);
  }
  const auto [b, a] = std::mismatch(before.graph.bytes.begin(), before.graph.bytes.end(),
                                    after.graph.bytes.begin(), after.graph.bytes.end());
  const auto text = [](absl::string_view bytes, absl::string_view::const_iterator at) {
    return at == bytes.end() ? std::string("the end")
                             : absl::StrFormat("0x%02x", static_cast<uint8_t>(*at));
  };
  if (b != before.graph.bytes.end() || a != after.graph.bytes.end()) {
    AddForm("bytes",
            absl::StrCat("first difference at offset ", b - before.graph.bytes.begin(), ": ",
                         text(before.graph.bytes, b), kBecomes, text(after.graph.bytes, a)),
            findings);
  } else if (before.identity.fingerprint != after.identity.fingerprint) {
    AddForm("kernel files", "the bytes are the same, files that they name differ", findings);
  }
}

// One path with two contents: between two packs the configurations that name it are the same text.
void CompareKernelFiles(const GraphIdentity& before, const GraphIdentity& after,
                        Findings* findings) {
  for (const KernelFile& old : before.files) {
    for (const KernelFile& now : after.files) {
      if (old.path != now.path || old.digest == now.digest) continue;
      AddForm("kernel file",
              absl::StrCat("the content of ", Printable(KernelFileName(now.path), 90), " ",
                           old.digest.Hex().substr(0, 8), kBecomes, now.digest.Hex().substr(0, 8)),
              findings);
    }
  }
}

// Digests of the files of both sides; of a path that both have, the first's.
IdentifyOptions OptionsOfBoth(const Side& before, const Side& after) {
  IdentifyOptions options = after.graph.options;
  if (!before.graph.options.file_digest) return options;
  options.file_digest =
      [first = before.graph.options.file_digest,
       second = after.graph.options.file_digest](absl::string_view path) -> absl::StatusOr<Digest> {
    absl::StatusOr<Digest> digest = first(path);
    return digest.ok() || !second ? digest : second(path);
  };
  return options;
}

bool SameSkeleton(const Side& before, const Side& after) {
  // Both are part of it, and spare it for most graphs.
  if (before.identity.instructions != after.identity.instructions ||
      before.identity.computations != after.identity.computations) {
    return false;
  }
  const auto skeleton = [](const Side& side) -> absl::StatusOr<Digest> {
    ASSIGN_OR_RETURN(HloIndex index, IndexModule(RecognizeGraph(side.graph.bytes).module));
    NativeKernels kernels(side.graph.options);
    return DescribeSkeleton(index, kernels);
  };
  const absl::StatusOr<Digest> b = skeleton(before);
  const absl::StatusOr<Digest> a = skeleton(after);
  return b.ok() && a.ok() && *b == *a;
}

absl::Status CompareHlo(const Side& before, const Side& after, const ExplainOptions& options,
                        Findings* findings, Explanation* explanation) {
  const absl::string_view before_module = RecognizeGraph(before.graph.bytes).module;
  const absl::string_view after_module = RecognizeGraph(after.graph.bytes).module;
  explanation->only_scalar_constants = SameSkeleton(before, after);
  ASSIGN_OR_RETURN(const std::unique_ptr<NumberedModule> b,
                   NumberedModule::Open(before_module, before.graph.options));
  ASSIGN_OR_RETURN(const std::unique_ptr<NumberedModule> a,
                   NumberedModule::Open(after_module, after.graph.options));
  CompareKernelFiles(before.identity, after.identity, findings);
  const IdentifyOptions of_both = OptionsOfBoth(before, after);
  CompareModules(*b, *a, of_both, findings);
  if (findings->empty() && findings->following_shapes() == 0 &&
      options.identify.order == GraphOrder::kExact) {
    CompareWrittenOrder(*b, *a, findings);
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view ToString(Difference::Kind kind) {
  switch (kind) {
    case Difference::Kind::kToolchain:
      return "toolchain";
    case Difference::Kind::kOption:
      return "option";
    case Difference::Kind::kForm:
      return "form";
    case Difference::Kind::kSignature:
      return "signature";
    case Difference::Kind::kModuleField:
      return "module";
    case Difference::Kind::kComputation:
      return "computation";
    case Difference::Kind::kInstruction:
      return "instruction";
    case Difference::Kind::kConstant:
      return "constant";
    case Difference::Kind::kOrder:
      break;
  }
  return "order";
}

std::string Explanation::Summary() const {
  if (same) return only_debug_data ? "the same but for names or metadata" : "the same";
  if (differences.empty()) return "different";
  std::string tail;
  const uint64_t more = differences.size() - 1 + omitted;
  if (more > 0) {
    tail = absl::StrCat("; and ", more, more == 1 ? " other difference" : " other differences");
  }
  if (only_scalar_constants) absl::StrAppend(&tail, "; only scalar constants differ");
  return absl::StrCat(Printable(differences[0].text, kLongestSummary - tail.size()), tail);
}

absl::StatusOr<Explanation> ExplainGraphs(absl::string_view before, absl::string_view after,
                                          const ExplainOptions& options) {
  Side b, a;
  RETURN_IF_ERROR(Open(before, options.identify, &b));
  RETURN_IF_ERROR(Open(after, options.identify, &a));
  Explanation explanation;
  if (b.identity.fingerprint == a.identity.fingerprint) {
    explanation.same = true;
    explanation.only_debug_data = b.identity.dropped != a.identity.dropped;
    return explanation;
  }
  Findings findings(std::max<size_t>(options.max_differences, 1));
  if (IsRaw(b.identity) || IsRaw(a.identity)) {
    CompareForms(b, a, &findings);
  } else {
    RETURN_IF_ERROR(CompareHlo(b, a, options, &findings, &explanation));
  }
  if (findings.empty()) {
    Finding finding;
    const uint64_t shapes = findings.following_shapes();
    if (shapes > 0) {
      finding.change = absl::StrCat(shapes, " shapes of instructions differ");
    } else {
      finding.kind = Difference::Kind::kOrder;
      finding.change = "the same instructions, sharing or order apart";
    }
    findings.Add(std::move(finding));
  }
  findings.MoveTo(&explanation);
  return explanation;
}

}  // namespace neffcache
