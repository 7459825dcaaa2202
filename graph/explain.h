#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/fingerprint.h"
#include "graph/key.h"

namespace neffcache {

// Something in which two compiles differ, in words.
struct Difference {
  // In order of importance; computations that come or go with their callers stand behind these.
  enum class Kind {
    kToolchain,
    kOption,
    kForm,         // One of the graphs, or both, are hashed as raw bytes.
    kSignature,    // How the graph is called: parameters, aliases, donors, entry shardings.
    kModuleField,  // An attribute of the module.
    kComputation,  // A computation that only one graph has, or an attribute of one.
    kInstruction,
    kConstant,
    kOrder,  // The schedule, or the order in which the same things are written.
  };
  Kind kind = Kind::kInstruction;
  std::string text;    // One printable line of at most 300 bytes.
  std::string source;  // "attention.py:88", also in the text; empty when unknown.

  friend bool operator==(const Difference&, const Difference&) = default;
};

// "toolchain", "option", "form", ...
absl::string_view ToString(Difference::Kind kind);

// How a graph differs from one before it.
struct Explanation {
  bool same = false;  // Equal fingerprints.
  // All but the values of scalar constants is the same: a rank may be baked in.
  bool only_scalar_constants = false;
  bool only_debug_data = false;  // The same, but names or metadata were other ones.
  // Most important first; at least one unless the graphs are the same.
  std::vector<Difference> differences;
  uint64_t omitted = 0;  // Further ones.

  // One line of at most 400 bytes: the first difference and how many there are.
  std::string Summary() const;
};

struct ExplainOptions {
  IdentifyOptions identify;
  size_t max_differences = 20;
};

// Says in words how `after` differs from `before`. Two graphs with different fingerprints have at
// least one difference, two with one fingerprint have none. Pure; time is linear in the sizes but
// for a bounded part, memory about 400 bytes an instruction, output bounded, whatever the bytes
// are.
//
// Errors as IdentifyGraph's. Where both are no canonicalized HLO they are compared as bytes.
absl::StatusOr<Explanation> ExplainGraphs(absl::string_view before, absl::string_view after,
                                          const ExplainOptions& options = {});

// Differences of toolchain and options, most important first, at most 20; those of the graphs take
// the graphs themselves.
std::vector<Difference> ExplainMaterial(const KeyMaterial& before, const KeyMaterial& after);

// A scalar constant that is another one in each of several graphs that are otherwise the same.
struct BakedConstant {
  std::string instruction;          // "constant.5"; printable.
  std::string source;               // "model.py:12"; empty when unknown.
  std::string shape;                // "s32[]"
  std::vector<std::string> values;  // By graph, the first 16.
  uint64_t distinct = 0;            // Values in all graphs.

  std::string Text() const;  // One line of at most 300 bytes.
};

struct RankBakedIn {
  uint64_t graphs = 0;
  std::vector<BakedConstant> constants;  // The first 16, in the order of the description.
  uint64_t omitted = 0;                  // Further ones.

  std::string Summary() const;  // One line of at most 400 bytes; says what to do.
};

// Which constants differ between graphs of one skeleton. None do between graphs that are the same.
// Memory: the scalar constants of one graph, and one graph's index at a time.
//
// INVALID_ARGUMENT: fewer than two graphs. FAILED_PRECONDITION: their skeletons differ, or one is
// no canonicalized HLO.
absl::StatusOr<RankBakedIn> ExplainRankBakedIn(absl::Span<const absl::string_view> graphs,
                                               const IdentifyOptions& options = {});

}  // namespace neffcache
