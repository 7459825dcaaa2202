#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/encoding.h"
#include "graph/explain.h"
#include "graph/explain/computation_difference.h"
#include "graph/explain/instruction_difference.h"
#include "graph/explain/module_fields.h"
#include "graph/explain/printable.h"
#include "graph/graph_form.h"
#include "graph/hlo_schema.h"
#include "graph/module_description.h"
#include "graph/opened_graph.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

using Fields = MessageEncoder::Fields;

constexpr size_t kMostConstants = 16;
constexpr size_t kMostValues = 16;
constexpr size_t kLongestText = 300;
constexpr size_t kLongestSummary = 400;

// Scalar constants of a graph in the order of the description without their values.
class ScalarConstants {
 public:
  explicit ScalarConstants(NumberedModule& module) : module_(module) {
    for (const uint32_t c : module.numbering().computation_at) {
      const ComputationRecord& computation = module.index().computations[c];
      for (uint32_t position = 0; position < computation.count; ++position) {
        const InstructionRecord& instruction = module.InstructionAt(computation, position);
        if (IsScalarConstant(instruction)) instructions_.push_back(&instruction);
      }
    }
  }

  size_t size() const { return instructions_.size(); }
  const InstructionRecord& At(size_t i) const { return *instructions_[i]; }

  // The literal's canonical form, for comparison, or what people see of it.
  std::string Form(size_t i) {
    std::string form;
    ForLiteral(i, [&](Fields group) {
      Encoding text;
      module_.encoder().EncodeGroup(SchemaOf(HloMessage::kInstruction), group, &text);
      form = std::string(text.view());
    });
    return form;
  }
  std::string Value(size_t i) {
    std::string text = "none";
    ForLiteral(i, [&](Fields group) { text = HloText(module_.encoder()).LiteralValue(group); });
    return text;
  }

 private:
  template <typename Take>
  void ForLiteral(size_t i, Take take) {
    MessageEncoder& encoder = module_.encoder();
    Fields fields;
    if (!encoder.Read(SchemaOf(HloMessage::kInstruction), instructions_[i]->bytes, &fields)) return;
    for (size_t k = fields.begin; k < fields.end;) {
      const Fields group = {k, encoder.GroupEnd(k, fields.end)};
      if (encoder.At(k).number == kLiteralField) take(group);
      k = group.end;
    }
    encoder.Release(fields);
  }

  NumberedModule& module_;
  std::vector<const InstructionRecord*> instructions_;
};

struct RankGraph {
  OpenedGraph opened;
  std::unique_ptr<NumberedModule> module;
  Digest skeleton;
};

absl::Status Open(absl::string_view bytes, size_t number, const IdentifyOptions& options,
                  RankGraph* graph) {
  const auto fail = [number](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("looking for a baked-in rank in graph ", number, ": ", why));
  };
  RETURN_IF_ERROR(OpenGraph(bytes, options, &graph->opened));
  const RecognizedGraph recognized = RecognizeGraph(graph->opened.bytes);
  if (recognized.module.empty()) return fail("it is no HLO");
  if (!recognized.opaque_reason.empty()) return fail(recognized.opaque_reason);
  absl::StatusOr<std::unique_ptr<NumberedModule>> module =
      NumberedModule::Open(recognized.module, graph->opened.options, Constants::kMaskScalars);
  if (!module.ok()) return fail(module.status().message());
  graph->module = *std::move(module);
  absl::StatusOr<HloIndex> index = IndexModule(recognized.module);
  if (!index.ok()) return fail(index.status().message());
  NativeKernels kernels(graph->opened.options);
  const absl::StatusOr<Digest> skeleton = DescribeSkeleton(*index, kernels);
  if (!skeleton.ok()) return fail(skeleton.status().message());
  graph->skeleton = *skeleton;
  return absl::OkStatus();
}

std::string SourceText(const SourceLine& source) {
  if (source.file.empty()) return "";
  const std::string name = source.file.substr(source.file.rfind('/') + 1);
  return source.line > 0 ? absl::StrCat(name, ":", source.line) : name;
}

// Constants whose values have been seen to differ, with those of the graphs so far.
struct Varying {
  BakedConstant constant;
  std::set<std::string> seen;
};

}  // namespace

std::string BakedConstant::Text() const {
  return Printable(
      absl::StrCat(instruction, source.empty() ? "" : " (", source, source.empty() ? " " : ") ",
                   shape, ": ", absl::StrJoin(values, ", "),
                   values.size() < distinct ? "\u2026" : ""),
      kLongestText);
}

std::string RankBakedIn::Summary() const {
  if (constants.empty()) return absl::StrCat("all ", graphs, " graphs are the same");
  const uint64_t more = constants.size() - 1 + omitted;
  const std::string tail = absl::StrCat(
      more == 0 ? "" : absl::StrCat("; and ", more, " more"),
      "; take the rank from partition-id, replica-id or an input, and one compile does for all");
  return absl::StrCat(Printable(absl::StrCat("rank baked in: ", graphs, " graphs differ only in ",
                                             constants[0].Text()),
                                kLongestSummary - tail.size()),
                      tail);
}

absl::StatusOr<RankBakedIn> ExplainRankBakedIn(absl::Span<const absl::string_view> graphs,
                                               const IdentifyOptions& options) {
  if (graphs.size() < 2) {
    return absl::InvalidArgumentError("looking for a baked-in rank takes two graphs or more");
  }
  RankGraph first;
  RETURN_IF_ERROR(Open(graphs[0], 0, options, &first));
  ScalarConstants base(*first.module);
  std::vector<Digest> forms;  // Of the first graph's constants.
  for (size_t i = 0; i < base.size(); ++i) forms.push_back(Sha256Of(base.Form(i)));
  SourceLines sources(first.module->index().module);

  absl::flat_hash_map<size_t, Varying> varying;
  for (size_t g = 1; g < graphs.size(); ++g) {
    RankGraph graph;
    RETURN_IF_ERROR(Open(graphs[g], g, options, &graph));
    if (graph.skeleton != first.skeleton) {
      return absl::FailedPreconditionError(absl::StrCat(
          "looking for a baked-in rank: graphs 0 and ", g, " differ in more than constants"));
    }
    ScalarConstants constants(*graph.module);
    for (size_t i = 0; i < base.size() && i < constants.size(); ++i) {
      const Digest form = Sha256Of(constants.Form(i));
      auto found = varying.find(i);
      if (found == varying.end()) {
        if (form == forms[i]) continue;
        const InstructionRecord& instruction = base.At(i);
        Varying added;
        added.constant.instruction = NameForPeople(instruction);
        added.constant.source = SourceText(sources.Of(instruction));
        added.constant.shape = ShapeOf(*first.module, instruction, HloText::Layouts::kHide);
        // All graphs before this one had the value of the first.
        const std::string value = base.Value(i);
        added.constant.values.assign(std::min(g, kMostValues), value);
        added.seen.insert(value);
        found = varying.emplace(i, std::move(added)).first;
      }
      Varying& constant = found->second;
      const std::string value = constants.Value(i);
      if (constant.constant.values.size() < kMostValues) {
        constant.constant.values.push_back(value);
      }
      constant.seen.insert(value);
    }
  }
  RankBakedIn result;
  result.graphs = graphs.size();
  std::vector<size_t> places;
  for (const auto& [place, constant] : varying) places.push_back(place);
  std::sort(places.begin(), places.end());
  for (const size_t place : places) {
    if (result.constants.size() == kMostConstants) break;
    Varying& constant = varying[place];
    constant.constant.distinct = constant.seen.size();
    result.constants.push_back(std::move(constant.constant));
  }
  result.omitted = places.size() - result.constants.size();
  return result;
}

}  // namespace neffcache
