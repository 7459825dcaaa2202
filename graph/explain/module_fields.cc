#include "graph/explain/module_fields.h"

#include "absl/strings/str_cat.h"
#include "graph/hlo_schema.h"
#include "graph/wire.h"

namespace neffcache {

ModuleField KindOfModuleField(uint32_t number) {
  switch (number) {
    case 4:   // host_program_shape
    case 8:   // input_output_alias
    case 12:  // spmd_output_sharding
    case 14:  // spmd_parameters_shardings
    case 18:  // buffer_donor
      return ModuleField::kSignature;
    default:
      break;
  }
  const FieldSchema* const field = SchemaOf(HloMessage::kModule).Find(number);
  if (field == nullptr) return ModuleField::kAttribute;
  switch (field->treatment) {
    case Treatment::kDrop:
    case Treatment::kNumber:
    case Treatment::kDescend:
    case Treatment::kSchedule:
    case Treatment::kPayloads:
    case Treatment::kOpaque:
      return ModuleField::kNeither;
    default:
      return ModuleField::kAttribute;
  }
}

absl::string_view StringField(absl::string_view message, uint32_t number) {
  absl::string_view text;
  WireReader reader(message);
  for (WireField field; reader.Next(&field);) {
    if (field.number == number && field.type == WireType::kBytes) text = field.bytes;
  }
  return text;
}

std::string NameOf(const ComputationRecord& computation) {
  const absl::string_view name = StringField(computation.bytes, kNameField);
  if (name.empty()) return absl::StrCat("computation ", computation.id);
  return std::string(name.substr(0, 200));
}

}  // namespace neffcache
