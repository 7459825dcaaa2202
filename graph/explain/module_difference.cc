#include "graph/explain/module_difference.h"
#include "graph/computation_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/explain/computation_difference.h"
#include "graph/explain/module_fields.h"
#include "graph/explain/printable.h"
#include "graph/hlo_schema.h"

namespace neffcache {
namespace {

using Fields = MessageEncoder::Fields;

class ModuleDiffer {
 public:
  ModuleDiffer(NumberedModule& before, NumberedModule& after, const IdentifyOptions& options,
               Findings& findings)
      : before_(before),
        after_(after),
        before_index_(before.index()),
        after_index_(after.index()),
        differ_(before.encoder(), after.encoder()),
        findings_(findings),
        computations_(before_, after_, options, differ_, findings) {}

  void Run() {
    CountContents();
    other_parameters_ = ParametersOf(before_.module, before_.module.Entry()) !=
                        ParametersOf(after_.module, after_.module.Entry());
    ComparePair({before_index_.entry, after_index_.entry, /*is_entry=*/true, false});
    CompareCalled();
    CompareLeft();
    CompareModuleFields();
    ComparePayloads();
    CompareSchedules();
  }

 private:
  const Digest& BeforeContent(uint32_t computation) {
    return before_.module.ContentOf(before_index_.computations[computation]);
  }
  const Digest& AfterContent(uint32_t computation) {
    return after_.module.ContentOf(after_index_.computations[computation]);
  }

  // Of contents that one side has more often, how much more often.
  void CountContents() {
    for (const ComputationRecord& c : before_index_.computations)
      ++left_before_[BeforeContent(c.index)];
    for (const ComputationRecord& c : after_index_.computations) {
      const auto found = left_before_.find(AfterContent(c.index));
      if (found != left_before_.end() && found->second > 0) {
        --found->second;
      } else {
        ++left_after_[AfterContent(c.index)];
      }
    }
  }

  // Takes one of this content out of those that are left.
  static bool Take(absl::flat_hash_map<Digest, uint64_t>& left, const Digest& content) {
    const auto found = left.find(content);
    if (found == left.end() || found->second == 0) return false;
    --found->second;
    return true;
  }

  void ComparePair(const ComputationPair& pair) {
    if (BeforeContent(pair.before) == AfterContent(pair.after)) return;
    if (pair.is_entry) {
      Take(left_before_, BeforeContent(pair.before));
      Take(left_after_, AfterContent(pair.after));
      paired_.emplace(pair.before, pair.after);
      paired_before_.insert(pair.before);
      paired_after_.insert(pair.after);
    }
    const bool changed = computations_.Compare(
        pair, [this](const CalleePair& callees) { return TakeCallees(callees); });
    if (pair.is_entry) entry_changed_ = changed;
  }

  bool TakeCallees(const CalleePair& callees) {
    if (paired_.contains({callees.before, callees.after})) return true;
    const Digest& before = BeforeContent(callees.before);
    const Digest& after = AfterContent(callees.after);
    const auto b = left_before_.find(before);
    const auto a = left_after_.find(after);
    if (b == left_before_.end() || b->second == 0 || a == left_after_.end() || a->second == 0) {
      return false;
    }
    AddPair({callees.before, callees.after, false, callees.inputs_changed});
    return true;
  }

  void AddPair(const ComputationPair& pair) {
    Take(left_before_, BeforeContent(pair.before));
    Take(left_after_, AfterContent(pair.after));
    paired_.emplace(pair.before, pair.after);
    paired_before_.insert(pair.before);
    paired_after_.insert(pair.after);
    todo_.push_back(pair);
  }

  void CompareCalled() {
    for (size_t i = 0; i < todo_.size(); ++i) ComparePair(ComputationPair(todo_[i]));
    todo_.clear();
  }

  // Those that no pair of callers leads to.
  void CompareLeft() {
    const auto left = [](const NumberedModule& module, const absl::flat_hash_set<uint32_t>& paired,
                         absl::flat_hash_map<Digest, uint64_t> counts) {
      std::vector<uint32_t> computations;
      for (const uint32_t c : module.numbering().computation_at) {
        if (paired.contains(c)) continue;
        if (Take(counts, module.ContentOf(module.index().computations[c]))) {
          computations.push_back(c);
        }
      }
      return computations;
    };
    const std::vector<uint32_t> b = left(before_.module, paired_before_, left_before_);
    const std::vector<uint32_t> a = left(after_.module, paired_after_, left_after_);
    absl::flat_hash_map<std::string, std::vector<uint32_t>> by_name;
    const auto name = [](const HloIndex& index, uint32_t computation) {
      return std::string(
          WithoutRunningNumber(StringField(index.computations[computation].bytes, kNameField)));
    };
    const std::vector<bool> called_before = Called(before_index_);
    const std::vector<bool> called_after = Called(after_index_);
    for (size_t i = a.size(); i-- > 0;) by_name[name(after_index_, a[i])].push_back(a[i]);
    for (const uint32_t computation : b) {
      const auto found = by_name.find(name(before_index_, computation));
      if (found == by_name.end() || found->second.empty()) {
        AddOneSided(before_.module, computation, called_before[computation], "- ");
        continue;
      }
      AddPair({computation, found->second.back(), false, false});
      found->second.pop_back();
    }
    for (const uint32_t computation : a) {
      if (!paired_after_.contains(computation))
        AddOneSided(after_.module, computation, called_after[computation], "+ ");
    }
    CompareCalled();
  }

  static std::vector<bool> Called(const HloIndex& index) {
    std::vector<bool> called(index.computations.size());
    for (const uint32_t callee : index.callees) called[callee] = true;
    return called;
  }

  // One that is called comes with its callers.
  void AddOneSided(const NumberedModule& module, uint32_t computation, bool called,
                   absl::string_view sign) {
    const ComputationRecord& record = module.index().computations[computation];
    Finding finding;
    finding.kind = Difference::Kind::kComputation;
    finding.follows = called;
    finding.subject = absl::StrCat(sign, "computation ", NameForPeople(record), " (", record.count,
                                   record.count == 1 ? " instruction)" : " instructions)");
    findings_.Add(std::move(finding));
  }

  void CompareModuleFields() {
    const MessageSchema& schema = SchemaOf(HloMessage::kModule);
    MessageEncoder& before = before_.module.encoder();
    MessageEncoder& after = after_.module.encoder();
    Fields b, a;
    if (!before.Read(schema, before_index_.module, &b, kComputationsField)) return;
    if (after.Read(schema, after_index_.module, &a, kComputationsField)) {
      differ_.ForEachGroup(b, a, [this](uint32_t number, Fields b_group, Fields a_group) {
        CompareModuleField(number, b_group, a_group);
      });
      after.Release(a);
    }
    before.Release(b);
  }

  void CompareModuleField(uint32_t number, Fields before, Fields after) {
    constexpr uint32_t kHostProgramShape = 4;
    const ModuleField kind = KindOfModuleField(number);
    if (kind == ModuleField::kNeither) return;
    // It says nothing new where the entry's shapes have changed.
    if (number == kHostProgramShape && entry_changed_) return;
    FieldChanges changes;
    differ_.CompareGroup(HloMessage::kModule, before, after, "", &changes);
    for (const FieldChange& change : changes.kept()) {
      Finding finding;
      finding.kind = kind == ModuleField::kSignature ? Difference::Kind::kSignature
                                                     : Difference::Kind::kModuleField;
      // Where there are more parameters or fewer, references to them have moved.
      finding.follows = kind == ModuleField::kSignature && other_parameters_;
      finding.subject = kind == ModuleField::kSignature ? "" : "module";
      finding.change = absl::StrCat(change.path, " ", change.text);
      findings_.Add(std::move(finding));
    }
    findings_.AddOmitted(changes.count() - changes.kept().size());
  }

  void ComparePayloads() {
    const std::vector<uint32_t> b = before_.module.UnreferencedPayloads();
    const std::vector<uint32_t> a = after_.module.UnreferencedPayloads();
    const auto add = [this](std::string change) {
      Finding finding;
      finding.kind = Difference::Kind::kModuleField;
      finding.subject = "module";
      finding.change = std::move(change);
      findings_.Add(std::move(finding));
    };
    if (b != a) {
      return add(absl::StrCat("payloads that nothing refers to ", b.size(), kBecomes, a.size()));
    }
    for (const uint32_t row : b) {
      if (before_index_.payloads[row] == after_index_.payloads[row]) continue;
      add(absl::StrCat("payload ", row, " ",
                       TextChange(before_index_.payloads[row], after_index_.payloads[row])));
    }
  }

  // Of computations that are the same; pairs were compared with their instructions.
  void CompareSchedules() {
    if (before_.module.schedule().present != after_.module.schedule().present) {
      Finding finding;
      finding.kind = Difference::Kind::kOrder;
      finding.subject = "schedule";
      finding.change =
          before_.module.schedule().present ? "present \u2192 absent" : "absent \u2192 present";
      return findings_.Add(std::move(finding));
    }
    if (!before_.module.schedule().present) return;
    absl::flat_hash_map<Digest, std::vector<uint32_t>> same;
    const std::vector<uint32_t>& written = after_.module.numbering().computation_at;
    for (size_t i = written.size(); i-- > 0;) {
      if (!paired_after_.contains(written[i])) same[AfterContent(written[i])].push_back(written[i]);
    }
    for (const uint32_t computation : before_.module.numbering().computation_at) {
      if (paired_before_.contains(computation)) continue;
      const auto found = same.find(BeforeContent(computation));
      if (found == same.end() || found->second.empty()) continue;
      computations_.CompareSchedulesOfEqual(before_index_.computations[computation],
                                            after_index_.computations[found->second.back()]);
      found->second.pop_back();
    }
  }

  ModuleSide before_;
  ModuleSide after_;
  const HloIndex& before_index_;
  const HloIndex& after_index_;
  MessageDiffer differ_;
  Findings& findings_;
  ComputationDiffer computations_;

  bool entry_changed_ = false;
  bool other_parameters_ = false;  // The entries have different numbers of them.
  absl::flat_hash_map<Digest, uint64_t> left_before_;
  absl::flat_hash_map<Digest, uint64_t> left_after_;
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> paired_;
  absl::flat_hash_set<uint32_t> paired_before_;
  absl::flat_hash_set<uint32_t> paired_after_;
  std::vector<ComputationPair> todo_;
};

}  // namespace

void CompareModules(NumberedModule& before, NumberedModule& after, const IdentifyOptions& options,
                    Findings* findings) {
  ModuleDiffer(before, after, options, *findings).Run();
}

void CompareWrittenOrder(const NumberedModule& before, const NumberedModule& after,
                         Findings* findings) {
  const std::vector<uint32_t>& b = before.numbering().computation_at;
  const std::vector<uint32_t>& a = after.numbering().computation_at;
  for (size_t i = 0; i < b.size() && i < a.size(); ++i) {
    const ComputationRecord& b_computation = before.index().computations[b[i]];
    const ComputationRecord& a_computation = after.index().computations[a[i]];
    Finding finding;
    finding.kind = Difference::Kind::kOrder;
    if (b_computation.index != a_computation.index) {
      finding.subject = NameForPeople(a_computation);
      finding.change = absl::StrCat("written as computation ", b_computation.index, kBecomes,
                                    a_computation.index);
      findings->Add(std::move(finding));
    }
    for (uint32_t k = 0; k < b_computation.count && k < a_computation.count; ++k) {
      const uint32_t was = before.PositionOf(b_computation, k);
      const uint32_t is = after.PositionOf(a_computation, k);
      if (was == is) continue;
      finding = Finding();
      finding.kind = Difference::Kind::kOrder;
      finding.subject = absl::StrCat("order of ", NameForPeople(a_computation));
      finding.change =
          absl::StrCat("at ", k, ": ", NameForPeople(after.InstructionAt(a_computation, was)),
                       kBecomes, NameForPeople(after.InstructionAt(a_computation, is)));
      findings->Add(std::move(finding));
      break;
    }
  }
}

}  // namespace neffcache
