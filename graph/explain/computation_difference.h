#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "graph/explain/findings.h"
#include "graph/explain/instruction_match.h"
#include "graph/explain/message_difference.h"
#include "graph/explain/numbered_module.h"
#include "graph/explain/source_lines.h"

namespace neffcache {

// One of two modules that are compared, with what is needed to speak of it. A name or a shape that
// is asked for often is read often: after a multiple of the module's size they are elided, so that
// time stays linear.
class ModuleSide {
 public:
  explicit ModuleSide(NumberedModule& m)
      : module(m),
        sources(m.index().module),
        effort_left_(32 * m.index().module.size() + (1 << 20)) {}

  // As NameForPeople().
  std::string Name(const InstructionRecord& instruction);
  std::string Name(const ComputationRecord& computation);
  // The shape of what a computation returns.
  std::string RootShape(const ComputationRecord& computation);

  NumberedModule& module;
  SourceLines sources;

 private:
  bool Spend(uint64_t bytes) {
    if (effort_left_ < bytes) return false;
    effort_left_ -= bytes;
    return true;
  }

  uint64_t effort_left_;
};

// Two computations of which the one has become the other.
struct ComputationPair {
  uint32_t before = 0;  // In HloIndex::computations.
  uint32_t after = 0;
  bool is_entry = false;
  // The caller passes other shapes: those of the parameters follow.
  bool inputs_changed = false;
};

// Two computations called from one place.
struct CalleePair {
  uint32_t before = 0;
  uint32_t after = 0;
  bool inputs_changed = false;
};

// Compares pairs of computations instruction by instruction. Not thread-safe.
class ComputationDiffer {
 public:
  // Says whether the one callee has become the other, which is then compared on its own; else the
  // caller calls something else.
  using TakeCallees = absl::FunctionRef<bool(const CalleePair&)>;

  ComputationDiffer(ModuleSide& before, ModuleSide& after, const IdentifyOptions& options,
                    MessageDiffer& differ, Findings& findings)
      : before_(before), after_(after), options_(options), differ_(differ), findings_(findings) {}

  // True when shapes of parameters or of the root are others.
  bool Compare(const ComputationPair& pair, TakeCallees take_callees);

  // Compares the schedules of two computations of equal content.
  void CompareSchedulesOfEqual(const ComputationRecord& before, const ComputationRecord& after);

 private:
  class Run;

  ModuleSide& before_;
  ModuleSide& after_;
  const IdentifyOptions& options_;
  MessageDiffer& differ_;
  Findings& findings_;
};

// How many of its instructions are parameters.
uint32_t ParametersOf(const NumberedModule& module, const ComputationRecord& computation);

// "add.7", printable.
std::string NameForPeople(const InstructionRecord& instruction);
std::string NameForPeople(const ComputationRecord& computation);

}  // namespace neffcache
