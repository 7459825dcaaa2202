#include "graph/explain/instruction_difference.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/encoding.h"
#include "graph/explain/json_difference.h"
#include "graph/explain/module_fields.h"
#include "graph/explain/printable.h"
#include "graph/hlo_schema.h"

namespace neffcache {
namespace {

using Fields = MessageEncoder::Fields;

class InstructionDiffer {
 public:
  InstructionDiffer(NumberedModule& before, const InstructionRecord& b, NumberedModule& after,
                    const InstructionRecord& a, const IdentifyOptions& options,
                    MessageDiffer& differ)
      : before_(before), b_(b), after_(after), a_(a), options_(options), differ_(differ) {}

  InstructionChange Run() {
    Fields b, a;
    if (!before_.writer().ReadInstruction(b_, &b)) return {};
    if (after_.writer().ReadInstruction(a_, &a)) {
      differ_.ForEachGroup(b, a, [this](uint32_t number, Fields before, Fields after) {
        CompareField(number, before, after);
      });
      after_.encoder().Release(a);
    }
    before_.encoder().Release(b);
    return std::move(change_);
  }

 private:
  void CompareField(uint32_t number, Fields before, Fields after) {
    if (number == kOperandsField || number == kControlsField || number == kCalleesField) return;
    if (Form(before_, b_, before, &before_form_) == Form(after_, a_, after, &after_form_)) return;
    switch (number) {
      case kOpcodeField:
        return change_.fields.Add("opcode", absl::StrCat(OpcodeText(before_, before), kBecomes,
                                                         OpcodeText(after_, after)));
      case kShapeField:
        return CompareShapes(before, after);
      case kLiteralField:
        return CompareLiterals(before, after);
      case kBackendConfigField:
        return CompareConfigs(before, after);
      default:
        differ_.CompareGroup(HloMessage::kInstruction, before, after, "", &change_.fields);
    }
  }

  // Own fields do not depend on the computation.
  static absl::string_view Form(NumberedModule& module, const InstructionRecord& instruction,
                                Fields group, Encoding* form) {
    form->Truncate(0);
    if (group.begin != group.end) {
      module.writer().WriteGroup(module.Entry(), instruction, group, References::kOwnFieldsOnly,
                                 form);
    }
    return form->view();
  }

  // Opcodes are words, and need no quotes.
  static std::string OpcodeText(NumberedModule& module, Fields group) {
    if (group.begin == group.end) return "absent";
    return Printable(module.encoder().At(group.end - 1).bytes, 60);
  }

  // The finding says that it is a shape.
  static absl::string_view WithoutPrefix(absl::string_view path) {
    absl::ConsumePrefix(&path, "shape.");
    return path;
  }

  void CompareShapes(Fields before, Fields after) {
    FieldChanges changes;
    differ_.CompareGroup(HloMessage::kInstruction, before, after, "", &changes);
    for (const FieldChange& change : changes.kept()) {
      const bool whole = change.path == "shape";
      absl::StrAppend(&change_.shape, change_.shape.empty() ? "" : ", ",
                      whole ? "" : absl::StrCat(WithoutPrefix(change.path), " "), change.text);
    }
  }

  void CompareLiterals(Fields before, Fields after) {
    // Shapes come first. Lists of different types have nothing in common but what they are.
    if (!change_.shape.empty()) {
      for (const HloText::Layouts layouts : {HloText::Layouts::kHide, HloText::Layouts::kShow}) {
        const std::string was = absl::StrCat(ShapeOf(before_, b_, layouts), " ",
                                             differ_.before_text().LiteralValue(before));
        const std::string is = absl::StrCat(ShapeOf(after_, a_, layouts), " ",
                                            differ_.after_text().LiteralValue(after));
        if (was == is) continue;
        change_.literal = absl::StrCat(was, kBecomes, is);
        return;
      }
    }
    FieldChanges changes;
    differ_.CompareGroup(HloMessage::kInstruction, before, after, "", &changes);
    const std::string shape = ShapeOf(after_, a_, HloText::Layouts::kHide);
    for (const FieldChange& change : changes.kept()) {
      const bool scalar = absl::EndsWith(shape, "[]");
      absl::StrAppend(&change_.literal, change_.literal.empty() ? "" : ", ");
      if (changes.count() > 1 || !absl::StartsWith(change.path, "literal.") ||
          absl::StrContains(change.path, "[")) {
        absl::StrAppend(&change_.literal, change.path, " ", change.text);
      } else if (scalar) {
        absl::StrAppend(&change_.literal, shape, " ", change.text);
      } else {
        absl::StrAppend(&change_.literal, "literal of ", shape, ": ", change.text);
      }
    }
  }

  void CompareConfigs(Fields before, Fields after) {
    constexpr char kPath[] = "backend_config";
    const auto bytes = [](const MessageEncoder& encoder, Fields group) {
      return group.begin == group.end ? absl::string_view() : encoder.At(group.end - 1).bytes;
    };
    const absl::string_view b = bytes(before_.encoder(), before);
    const absl::string_view a = bytes(after_.encoder(), after);
    if (!CompareJson(b, a, options_, kPath, &change_.fields)) {
      change_.fields.Add(kPath, TextChange(b, a));
    }
  }

  NumberedModule& before_;
  const InstructionRecord& b_;
  NumberedModule& after_;
  const InstructionRecord& a_;
  const IdentifyOptions& options_;
  MessageDiffer& differ_;
  InstructionChange change_;
  Encoding before_form_;
  Encoding after_form_;
};

}  // namespace

InstructionChange CompareInstructions(NumberedModule& before, const InstructionRecord& b,
                                      NumberedModule& after, const InstructionRecord& a,
                                      const IdentifyOptions& options, MessageDiffer& differ) {
  return InstructionDiffer(before, b, after, a, options, differ).Run();
}

std::string ShapeOf(NumberedModule& module, const InstructionRecord& instruction,
                    HloText::Layouts layouts) {
  MessageEncoder& encoder = module.encoder();
  Fields fields;
  if (!encoder.Read(SchemaOf(HloMessage::kInstruction), instruction.bytes, &fields)) return "?";
  std::string text = "?";
  for (size_t i = fields.begin; i < fields.end;) {
    const Fields group = {i, encoder.GroupEnd(i, fields.end)};
    if (encoder.At(i).number == kShapeField && encoder.At(i).type == WireType::kBytes) {
      text = HloText(encoder).Shape(group, layouts);
    }
    i = group.end;
  }
  encoder.Release(fields);
  return text;
}

}  // namespace neffcache
