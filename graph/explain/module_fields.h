#pragma once

// The fields that explanations treat by number, and what a module's fields are to its callers.

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/hlo_index.h"

namespace neffcache {

// Of a module.
inline constexpr uint32_t kComputationsField = 3;
inline constexpr uint32_t kStackFrameIndexField = 17;
// Of a computation.
inline constexpr uint32_t kInstructionsField = 2;
inline constexpr uint32_t kProgramShapeField = 4;
// Of an instruction; a computation and a module have their names there, too.
inline constexpr uint32_t kNameField = 1;
inline constexpr uint32_t kOpcodeField = 2;
inline constexpr uint32_t kShapeField = 3;
inline constexpr uint32_t kMetadataField = 7;
inline constexpr uint32_t kLiteralField = 8;
inline constexpr uint32_t kParameterNumberField = 9;
inline constexpr uint32_t kOperandsField = 36;
inline constexpr uint32_t kControlsField = 37;
inline constexpr uint32_t kCalleesField = 38;
inline constexpr uint32_t kBackendConfigField = 43;

enum class ModuleField {
  kSignature,  // How the module is called.
  kAttribute,
  kNeither,  // Ids, computations, payloads, the schedule, and what is dropped.
};

ModuleField KindOfModuleField(uint32_t number);

// The last string in field `number`; empty when there is none.
absl::string_view StringField(absl::string_view message, uint32_t number);

// The name written in a computation, else "computation" and its id.
std::string NameOf(const ComputationRecord& computation);

}  // namespace neffcache
