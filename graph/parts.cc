#include "graph/parts.h"
#include "graph/computation_writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/encoding.h"
#include "graph/explain/module_fields.h"
#include "graph/explain/numbered_module.h"
#include "graph/explain/printable.h"
#include "graph/graph_form.h"
#include "graph/hlo_schema.h"
#include "graph/module_description.h"
#include "graph/opened_graph.h"
#include "io/status_macros.h"

namespace neffcache {
namespace {

constexpr size_t kLongestName = 100;
constexpr size_t kLongestLine = 300;

constexpr uint32_t kPayloads = 22;

Digest DigestOf(absl::string_view tag, const Encoding& text) {
  Encoding head;
  head.PutBlob(tag);
  Sha256 hash;
  hash.Update(head.view());
  hash.Update(text.view());
  return hash.Finish();
}

class PartsWriter {
 public:
  explicit PartsWriter(NumberedModule& module) : module_(module), encoder_(module.encoder()) {}

  // False where the encoder failed.
  bool Write(GraphParts* parts) {
    Encoding signature, attributes;
    if (!WriteEntry(&signature) || !WriteModuleFields(&signature, &attributes)) return false;
    signature.PutVarint(0);
    attributes.PutVarint(0);
    parts->signature = DigestOf("neffcache-signature-1", signature);
    parts->attributes = DigestOf("neffcache-attributes-1", attributes);
    for (const uint32_t computation : module_.numbering().computation_at) {
      const ComputationRecord& record = module_.index().computations[computation];
      parts->computations.push_back(
          {module_.ContentOf(record), record.count, Printable(NameOf(record), kLongestName)});
    }
    return true;
  }

 private:
  // The shapes of the entry's parameters and of its root, and its program shape.
  bool WriteEntry(Encoding* out) {
    const ComputationRecord& entry = module_.Entry();
    for (uint32_t position = 0; position < entry.count; ++position) {
      const InstructionRecord& instruction = module_.InstructionAt(entry, position);
      if (!instruction.is_parameter) continue;
      out->PutByte('p');
      out->PutVarint(static_cast<uint64_t>(instruction.parameter_number));
      if (!WriteFields(HloMessage::kInstruction, instruction.bytes, kShapeField, out)) return false;
    }
    out->PutByte('r');
    const InstructionRecord& root = module_.index().instructions[entry.first + entry.root];
    return WriteFields(HloMessage::kInstruction, root.bytes, kShapeField, out) &&
           WriteFields(HloMessage::kComputation, entry.bytes, kProgramShapeField, out);
  }

  // Field `number` alone, if it is there.
  bool WriteFields(HloMessage type, absl::string_view bytes, uint32_t number, Encoding* out) {
    const MessageSchema& schema = SchemaOf(type);
    MessageEncoder::Fields fields;
    if (!encoder_.Read(schema, bytes, &fields)) return false;
    const bool written = encoder_.EncodeOnly(schema, fields, number, out);
    encoder_.Release(fields);
    return written;
  }

  bool WriteModuleFields(Encoding* signature, Encoding* attributes) {
    const MessageSchema& schema = SchemaOf(HloMessage::kModule);
    MessageEncoder::Fields fields;
    if (!encoder_.Read(schema, module_.index().module, &fields, kComputationsField)) return false;
    for (size_t i = fields.begin; i < fields.end;) {
      const size_t next = encoder_.GroupEnd(i, fields.end);
      const ModuleField kind = KindOfModuleField(encoder_.At(i).number);
      Encoding* const out = kind == ModuleField::kSignature ? signature : attributes;
      if (kind != ModuleField::kNeither && !encoder_.EncodeGroup(schema, {i, next}, out)) {
        return false;
      }
      i = next;
    }
    encoder_.Release(fields);
    for (const uint32_t row : module_.UnreferencedPayloads()) {
      attributes->PutHeader(kPayloads, Kind::kStringList);
      attributes->PutVarint(row);
      encoder_.EncodeString(module_.index().payloads[row], attributes);
    }
    return true;
  }

  NumberedModule& module_;
  MessageEncoder& encoder_;
};

std::string CountChange(uint64_t before, uint64_t after) {
  return before == after ? absl::StrCat(after, " instructions")
                         : absl::StrCat(before, kBecomes, after, " instructions");
}

// The computations of `parts` whose content the other graph has too few of.
std::vector<const ComputationPart*> Surplus(const GraphParts& parts, const GraphParts& other) {
  absl::flat_hash_map<Digest, uint64_t> available;
  for (const ComputationPart& part : other.computations) ++available[part.content];
  std::vector<const ComputationPart*> surplus;
  for (const ComputationPart& part : parts.computations) {
    uint64_t& left = available[part.content];
    if (left > 0) {
      --left;
    } else {
      surplus.push_back(&part);
    }
  }
  return surplus;
}

// "2 of 14 computations: region_3.12 (4 instructions), main.77 (212 → 213 instructions)".
std::string ComputationClause(const GraphParts& before, const GraphParts& after) {
  constexpr size_t kMostNamed = 3;
  const std::vector<const ComputationPart*> gone = Surplus(before, after);
  const std::vector<const ComputationPart*> come = Surplus(after, before);
  if (gone.empty() && come.empty()) return "";
  absl::flat_hash_map<absl::string_view, const ComputationPart*> by_name;
  for (const ComputationPart* part : gone) by_name.emplace(WithoutRunningNumber(part->name), part);
  std::vector<std::string> named;
  for (const ComputationPart* part : come) {
    if (named.size() == kMostNamed) break;
    const auto old = by_name.find(WithoutRunningNumber(part->name));
    named.push_back(absl::StrCat(
        part->name, " (",
        old == by_name.end() ? "new" : CountChange(old->second->instructions, part->instructions),
        ")"));
    if (old != by_name.end()) by_name.erase(old);
  }
  if (come.empty()) named.push_back(absl::StrCat(gone[0]->name, " (gone)"));
  std::string clause =
      absl::StrCat(come.empty() ? gone.size() : come.size(), " of ",
                   come.empty() ? before.computations.size() : after.computations.size(),
                   " computations: ", absl::StrJoin(named, ", "));
  if (come.size() > named.size()) absl::StrAppend(&clause, "\u2026");
  return clause;
}

}  // namespace

absl::StatusOr<GraphParts> PartsOfGraph(absl::string_view bytes, const IdentifyOptions& options) {
  OpenedGraph opened;
  RETURN_IF_ERROR(OpenGraph(bytes, options, &opened));
  const RecognizedGraph graph = RecognizeGraph(opened.bytes);
  const auto no_parts = [](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat("the graph has no parts: ", why));
  };
  if (graph.module.empty()) return no_parts(absl::StrCat("its form is ", ToString(graph.form)));
  if (!graph.opaque_reason.empty()) return no_parts(graph.opaque_reason);
  GraphParts parts;
  {
    const absl::StatusOr<std::unique_ptr<NumberedModule>> module =
        NumberedModule::Open(graph.module, opened.options);
    if (!module.ok()) return no_parts(module.status().message());
    if (!PartsWriter(**module).Write(&parts)) return no_parts((*module)->encoder().error());
  }
  // With other ties to break, and so with a numbering of its own.
  absl::StatusOr<HloIndex> index = IndexModule(graph.module);
  if (!index.ok()) return no_parts(index.status().message());
  NativeKernels kernels(opened.options);
  const absl::StatusOr<Digest> skeleton = DescribeSkeleton(*index, kernels);
  if (!skeleton.ok()) return no_parts(skeleton.status().message());
  parts.skeleton = *skeleton;
  return parts;
}

std::string DescribePartDifference(const GraphParts& before, const GraphParts& after) {
  std::vector<std::string> clauses;
  if (before.skeleton == after.skeleton) {
    if (before == after) return "nothing but the order or the schedule";
    clauses.push_back("scalar constants alone");
  }
  if (before.signature != after.signature) {
    clauses.push_back("parameters, results, aliases or their shardings");
  }
  if (before.attributes != after.attributes) clauses.push_back("attributes of the module");
  const std::string computations = ComputationClause(before, after);
  if (!computations.empty()) clauses.push_back(computations);
  return Printable(absl::StrJoin(clauses, "; "), kLongestLine);
}

GraphParts LargestParts(GraphParts parts, size_t most) {
  std::vector<ComputationPart>& all = parts.computations;
  if (all.size() <= most) return parts;
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&all](size_t a, size_t b) {
    return std::pair(all[b].instructions, all[a].content) <
           std::pair(all[a].instructions, all[b].content);
  });
  order.resize(most);
  std::sort(order.begin(), order.end());
  std::vector<ComputationPart> kept;
  kept.reserve(order.size());
  for (const size_t i : order) kept.push_back(std::move(all[i]));
  all = std::move(kept);
  return parts;
}

}  // namespace neffcache
