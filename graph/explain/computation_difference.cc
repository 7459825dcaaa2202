#include "graph/explain/computation_difference.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/explain/instruction_difference.h"
#include "graph/explain/instruction_table.h"
#include "graph/explain/module_fields.h"
#include "graph/explain/printable.h"

namespace neffcache {
namespace {

using Fields = MessageEncoder::Fields;

constexpr uint32_t kNone = InstructionMatching::kNone;
constexpr size_t kLongestName = 80;
constexpr size_t kMostReferences = 3;  // Changed operands that are named of one instruction.

}  // namespace

uint32_t ParametersOf(const NumberedModule& module, const ComputationRecord& computation) {
  const auto first =
      module.index().instructions.begin() + static_cast<std::ptrdiff_t>(computation.first);
  return static_cast<uint32_t>(
      std::count_if(first, first + static_cast<std::ptrdiff_t>(computation.count),
                    [](const InstructionRecord& i) { return i.is_parameter; }));
}

std::string NameForPeople(const InstructionRecord& instruction) {
  return Printable(NameOf(instruction), kLongestName);
}

std::string NameForPeople(const ComputationRecord& computation) {
  return Printable(NameOf(computation), kLongestName);
}

std::string ModuleSide::Name(const InstructionRecord& instruction) {
  return Spend(instruction.bytes.size()) ? NameForPeople(instruction) : "\u2026";
}

std::string ModuleSide::Name(const ComputationRecord& computation) {
  // Its instructions are passed over by their lengths.
  return Spend(uint64_t{16} * computation.count) ? NameForPeople(computation) : "\u2026";
}

std::string ModuleSide::RootShape(const ComputationRecord& computation) {
  const InstructionRecord& root = module.index().instructions[computation.first + computation.root];
  return Spend(root.bytes.size()) ? ShapeOf(module, root, HloText::Layouts::kShow) : "\u2026";
}

// The comparison of one pair.
class ComputationDiffer::Run {
 public:
  Run(ComputationDiffer& differ, const ComputationPair& pair, TakeCallees take_callees)
      : d_(differ),
        pair_(pair),
        take_callees_(take_callees),
        b_module_(differ.before_.module),
        a_module_(differ.after_.module),
        b_computation_(b_module_.index().computations[pair.before]),
        a_computation_(a_module_.index().computations[pair.after]),
        same_parameters_(ParametersOf(b_module_, b_computation_) ==
                         ParametersOf(a_module_, a_computation_)),
        b_(b_module_, b_computation_, Numbers()),
        a_(a_module_, a_computation_, Numbers()),
        matching_(MatchInstructions(b_, a_)) {}

  bool Compare() {
    for (uint32_t b = 0; b < b_.size(); ++b) {
      const uint32_t a = matching_.after[b];
      if (a == kNone) {
        AddOneSided(d_.before_, b_computation_, b, "- ");
      } else {
        ComparePair(b, a);
      }
    }
    for (uint32_t a = 0; a < a_.size(); ++a) {
      if (matching_.before[a] == kNone) AddOneSided(d_.after_, a_computation_, a, "+ ");
    }
    CompareRoots();
    CompareFields();
    CompareSchedules();
    return interface_changed_;
  }

 private:
  InstructionTable::Parameters Numbers() const {
    return same_parameters_ ? InstructionTable::Parameters::kByNumber
                            : InstructionTable::Parameters::kByShape;
  }
  const InstructionRecord& BeforeAt(uint32_t b) {
    return b_module_.InstructionAt(b_computation_, b);
  }
  const InstructionRecord& AfterAt(uint32_t a) {
    return a_module_.InstructionAt(a_computation_, a);
  }
  bool ShapeChanged(uint32_t b) const {
    return matching_.after[b] != kNone && b_.rows[b].shape != a_.rows[matching_.after[b]].shape;
  }

  // An instruction that only one side has.
  void AddOneSided(ModuleSide& side, const ComputationRecord& computation, uint32_t position,
                   absl::string_view sign) {
    const InstructionRecord& instruction = side.module.InstructionAt(computation, position);
    const bool parameter = pair_.is_entry && instruction.is_parameter;
    const std::string shape = ShapeOf(side.module, instruction, HloText::Layouts::kHide);
    Finding finding;
    finding.kind = parameter ? Difference::Kind::kSignature : Difference::Kind::kInstruction;
    finding.subject =
        parameter ? absl::StrCat(sign, "parameter ", instruction.parameter_number, " ", shape)
                  : absl::StrCat(sign, NameForPeople(instruction), " ", shape);
    finding.source = side.sources.Of(instruction);
    interface_changed_ |= instruction.is_parameter;
    d_.findings_.Add(std::move(finding));
  }

  void ComparePair(uint32_t b, uint32_t a) {
    const InstructionRecord& before = BeforeAt(b);
    const InstructionRecord& after = AfterAt(a);
    changes_.clear();
    follows_ = false;
    const bool inputs_changed = CompareOperands(b, a);
    CompareControls(before, after);
    CompareCallees(before, after, inputs_changed);
    const bool renumbered = after.is_parameter && before.parameter_number != after.parameter_number;
    const bool moved = renumbered && !same_parameters_;
    const bool shape_changed = ShapeChanged(b);
    InstructionChange own;
    if (b_.rows[b].own != a_.rows[a].own) {
      own = CompareInstructions(b_module_, before, a_module_, after, d_.options_, d_.differ_);
      for (const FieldChange& change : own.fields.kept()) {
        // Said below; and names of inputs go with their numbers.
        if (after.is_parameter && change.path == "parameter_number") continue;
        if (moved && change.path.starts_with("frontend attribute")) continue;
        changes_.push_back(absl::StrCat(change.path, " ", change.text));
      }
      const uint64_t more = own.fields.count() - own.fields.kept().size();
      if (more > 0) changes_.push_back(absl::StrCat("and ", more, " more"));
    }
    if (moved) {
      changes_.insert(changes_.begin(), "another number");
      follows_ = true;
    } else if (renumbered) {
      changes_.insert(changes_.begin(), absl::StrCat("parameter ", before.parameter_number,
                                                     kBecomes, after.parameter_number));
    }
    Finding finding;
    bool shape_named = false;
    const bool only_literal = changes_.empty() && !own.literal.empty();
    if (shape_changed) {
      interface_changed_ |= after.is_parameter || b == b_.root;
      const bool passed_in = !pair_.is_entry && after.is_parameter && pair_.inputs_changed;
      if (inputs_changed || passed_in || CalleeShapeChanged(before, after)) {
        d_.findings_.CountFollowingShape();
        follows_ = true;
      } else {
        shape_named = true;
        if (own.literal.empty()) {
          changes_.insert(changes_.begin(), pair_.is_entry && after.is_parameter
                                                ? own.shape
                                                : absl::StrCat("shape ", own.shape));
        }
      }
    }
    if (!own.literal.empty()) changes_.push_back(own.literal);
    if (changes_.empty()) return;
    finding.kind = Difference::Kind::kInstruction;
    if (only_literal) finding.kind = Difference::Kind::kConstant;
    finding.subject = NameForPeople(after);
    if (pair_.is_entry && after.is_parameter) {
      finding.kind = Difference::Kind::kSignature;
      finding.subject = absl::StrCat(
          "parameter ",
          moved ? absl::StrCat(before.parameter_number, kBecomes, after.parameter_number)
                : absl::StrCat(after.parameter_number));
    }
    finding.follows = follows_;
    finding.source = d_.after_.sources.Of(after);
    finding.change = absl::StrJoin(changes_, "; ");
    finding.foldable = true;
    finding.has_shape = shape_named;
    d_.findings_.Add(std::move(finding));
  }

  // True when a shape that comes in is another one, or comes from something new.
  bool CompareOperands(uint32_t b, uint32_t a) {
    const auto before = b_.Operands(b);
    const auto after = a_.Operands(a);
    bool inputs_changed = false, touched = false;
    std::vector<std::string> named;
    uint64_t moved = 0;
    for (const uint32_t operand : before) {
      inputs_changed |= ShapeChanged(operand);
      touched |= matching_.after[operand] == kNone;
    }
    for (const uint32_t operand : after) touched |= matching_.before[operand] == kNone;
    if (before.size() != after.size()) {
      named.push_back(absl::StrCat(before.size(), kBecomes, after.size(), " operands"));
    } else {
      for (size_t i = 0; i < before.size(); ++i) {
        if (matching_.Has(before[i], after[i])) continue;
        if (++moved > kMostReferences) continue;
        named.push_back(absl::StrCat("operand ", i, " ", OperandChange(before[i], after[i])));
      }
      if (moved > kMostReferences) {
        named.push_back(absl::StrCat("and ", moved - kMostReferences, " more operands"));
      }
    }
    if (!named.empty()) {
      follows_ |= touched;
      changes_.insert(changes_.end(), named.begin(), named.end());
    }
    return inputs_changed || touched;
  }

  // The names of two operands, and what they are made of where the names are no help.
  std::string OperandChange(uint32_t b, uint32_t a) {
    std::string was = OperandText(d_.before_, b_, b, 0);
    std::string is = OperandText(d_.after_, a_, a, 0);
    for (int depth = 1; was == is && depth <= 4; ++depth) {
      was = OperandText(d_.before_, b_, b, depth);
      is = OperandText(d_.after_, a_, a, depth);
    }
    return was == is ? absl::StrCat(was, kBecomes, "another ", is)
                     : absl::StrCat(was, kBecomes, is);
  }
  std::string OperandText(ModuleSide& side, const InstructionTable& table, uint32_t position,
                          int depth) {
    const InstructionRecord& instruction = side.module.InstructionAt(table.computation, position);
    if (instruction.is_parameter) return absl::StrCat("parameter ", instruction.parameter_number);
    const auto operands = table.Operands(position);
    std::string text = side.Name(instruction);
    if (depth > 0 && !operands.empty()) {
      absl::StrAppend(&text, "(", OperandText(side, table, operands[0], depth - 1),
                      operands.size() > 1 ? ", \u2026)" : ")");
    }
    return text;
  }

  void CompareControls(const InstructionRecord& before, const InstructionRecord& after) {
    const auto b_controls = b_module_.index().Controls(before);
    const auto a_controls = a_module_.index().Controls(after);
    if (b_controls.empty() && a_controls.empty()) return;
    std::vector<uint32_t> expected, found;  // By position after.
    for (const uint32_t offset : b_controls) {
      const uint32_t b = b_module_.PositionOf(b_computation_, offset);
      if (matching_.after[b] == kNone) {
        changes_.push_back(absl::StrCat("control predecessor - ", d_.before_.Name(BeforeAt(b))));
        follows_ = true;
      } else {
        expected.push_back(matching_.after[b]);
      }
    }
    for (const uint32_t offset : a_controls) {
      found.push_back(a_module_.PositionOf(a_computation_, offset));
    }
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    const auto add = [&](const std::vector<uint32_t>& have, const std::vector<uint32_t>& lack,
                         absl::string_view sign) {
      std::vector<uint32_t> only;
      std::set_difference(have.begin(), have.end(), lack.begin(), lack.end(),
                          std::back_inserter(only));
      for (size_t i = 0; i < only.size() && i < kMostReferences; ++i) {
        changes_.push_back(
            absl::StrCat("control predecessor ", sign, d_.after_.Name(AfterAt(only[i]))));
      }
    };
    add(expected, found, "- ");
    add(found, expected, "+ ");
  }

  void CompareCallees(const InstructionRecord& before, const InstructionRecord& after,
                      bool inputs_changed) {
    const auto b_callees = b_module_.index().Callees(before);
    const auto a_callees = a_module_.index().Callees(after);
    if (b_callees.size() != a_callees.size()) {
      changes_.push_back(
          absl::StrCat("calls ", b_callees.size(), kBecomes, a_callees.size(), " computations"));
      return;
    }
    for (size_t i = 0; i < b_callees.size(); ++i) {
      const ComputationRecord& b = b_module_.index().computations[b_callees[i]];
      const ComputationRecord& a = a_module_.index().computations[a_callees[i]];
      if (b_module_.ContentOf(b) == a_module_.ContentOf(a)) continue;
      if (take_callees_({b.index, a.index, inputs_changed})) continue;
      changes_.push_back(absl::StrCat("calls ", d_.before_.Name(b), kBecomes, d_.after_.Name(a)));
    }
  }

  // A caller's shape follows those of what it calls.
  bool CalleeShapeChanged(const InstructionRecord& before, const InstructionRecord& after) {
    const auto b_callees = b_module_.index().Callees(before);
    const auto a_callees = a_module_.index().Callees(after);
    for (size_t i = 0; i < b_callees.size() && i < a_callees.size(); ++i) {
      const ComputationRecord& b = b_module_.index().computations[b_callees[i]];
      const ComputationRecord& a = a_module_.index().computations[a_callees[i]];
      if (b_module_.ContentOf(b) == a_module_.ContentOf(a)) continue;
      if (d_.before_.RootShape(b) != d_.after_.RootShape(a)) return true;
    }
    return false;
  }

  void CompareRoots() {
    if (matching_.Has(b_.root, a_.root)) return;
    interface_changed_ = true;
    Finding finding;
    finding.subject =
        pair_.is_entry ? "root" : absl::StrCat("root of ", NameForPeople(a_computation_));
    finding.follows = matching_.after[b_.root] == kNone || matching_.before[a_.root] == kNone;
    finding.source = d_.after_.sources.Of(AfterAt(a_.root));
    finding.change = absl::StrCat(d_.before_.Name(BeforeAt(b_.root)), kBecomes,
                                  d_.after_.Name(AfterAt(a_.root)));
    d_.findings_.Add(std::move(finding));
  }

  // The computation's own fields. A program shape says nothing new where shapes have changed.
  void CompareFields() {
    const MessageSchema& schema = SchemaOf(HloMessage::kComputation);
    Fields b, a;
    MessageEncoder& before = b_module_.encoder();
    MessageEncoder& after = a_module_.encoder();
    if (!before.Read(schema, b_computation_.bytes, &b, kInstructionsField)) return;
    if (after.Read(schema, a_computation_.bytes, &a, kInstructionsField)) {
      FieldChanges changes;
      d_.differ_.ForEachGroup(b, a, [&](uint32_t number, Fields b_group, Fields a_group) {
        const FieldSchema* const field = schema.Find(number);
        if (number == kNameField) {
          CompareNames(before, b_group, after, a_group, &changes);
        } else if (field != nullptr && field->treatment != Treatment::kNumber &&
                   (number != kProgramShapeField || !interface_changed_)) {
          d_.differ_.CompareGroup(HloMessage::kComputation, b_group, a_group, "", &changes);
        }
      });
      for (const FieldChange& change : changes.kept()) {
        Finding finding;
        finding.kind = pair_.is_entry && change.path.starts_with("program_shape")
                           ? Difference::Kind::kSignature
                           : Difference::Kind::kComputation;
        finding.subject = NameForPeople(a_computation_);
        finding.change = absl::StrCat(change.path, " ", change.text);
        d_.findings_.Add(std::move(finding));
      }
      after.Release(a);
    }
    before.Release(b);
  }

  static void CompareNames(const MessageEncoder& before, Fields b, const MessageEncoder& after,
                           Fields a, FieldChanges* changes) {
    const auto marked = [](const MessageEncoder& encoder, Fields group) {
      return group.begin == group.end ? absl::string_view()
                                      : MarkedName(encoder.At(group.end - 1).bytes);
    };
    const absl::string_view was = marked(before, b);
    const absl::string_view is = marked(after, a);
    if (was != is) changes->Add("name", TextChange(was, is));
  }

  void CompareSchedules() {
    if (!b_module_.schedule().present || !a_module_.schedule().present) return;
    const std::vector<uint32_t> b = b_module_.ScheduledPositions(b_computation_);
    const std::vector<uint32_t> a = a_module_.ScheduledPositions(a_computation_);
    // Without what only one side has.
    std::vector<uint32_t> expected, found;
    for (const uint32_t position : b) {
      if (matching_.after[position] != kNone) expected.push_back(matching_.after[position]);
    }
    for (const uint32_t position : a) {
      if (matching_.before[position] != kNone) found.push_back(position);
    }
    const auto [was, is] =
        std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
    if (was == expected.end() && is == found.end()) return;
    const auto name = [&](bool present, uint32_t position) {
      return present ? d_.after_.Name(AfterAt(position)) : std::string("the end");
    };
    Finding finding;
    finding.kind = Difference::Kind::kOrder;
    finding.subject = absl::StrCat("schedule of ", NameForPeople(a_computation_));
    finding.change = absl::StrCat("at ", was - expected.begin(), ": ",
                                  name(was != expected.end(), was == expected.end() ? 0 : *was),
                                  kBecomes, name(is != found.end(), is == found.end() ? 0 : *is));
    d_.findings_.Add(std::move(finding));
  }

  ComputationDiffer& d_;
  const ComputationPair& pair_;
  const TakeCallees take_callees_;
  NumberedModule& b_module_;
  NumberedModule& a_module_;
  const ComputationRecord& b_computation_;
  const ComputationRecord& a_computation_;
  const bool same_parameters_;
  const InstructionTable b_;
  const InstructionTable a_;
  const InstructionMatching matching_;
  bool interface_changed_ = false;
  // Of the pair of instructions at hand.
  std::vector<std::string> changes_;
  bool follows_ = false;
};

bool ComputationDiffer::Compare(const ComputationPair& pair, TakeCallees take_callees) {
  return Run(*this, pair, take_callees).Compare();
}

void ComputationDiffer::CompareSchedulesOfEqual(const ComputationRecord& before,
                                                const ComputationRecord& after) {
  if (!before_.module.schedule().present || !after_.module.schedule().present) return;
  const std::vector<uint32_t> b = before_.module.ScheduledPositions(before);
  const std::vector<uint32_t> a = after_.module.ScheduledPositions(after);
  const auto [was, is] = std::mismatch(b.begin(), b.end(), a.begin(), a.end());
  if (was == b.end() && is == a.end()) return;
  const auto name = [&](bool present, uint32_t position) {
    return present ? NameForPeople(after_.module.InstructionAt(after, position))
                   : std::string("the end");
  };
  Finding finding;
  finding.kind = Difference::Kind::kOrder;
  finding.subject = absl::StrCat("schedule of ", NameForPeople(after));
  finding.change =
      absl::StrCat("at ", was - b.begin(), ": ", name(was != b.end(), was == b.end() ? 0 : *was),
                   kBecomes, name(is != a.end(), is == a.end() ? 0 : *is));
  findings_.Add(std::move(finding));
}

}  // namespace neffcache
