#include "graph/graph_form.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/hlo_index.h"
#include "graph/wire.h"

namespace neffcache {
namespace {

constexpr absl::string_view kMlirMagic("ML\xefR", 4);

// The message in field 1 of a container whose other fields, up to `last_known`, say nothing of the
// computation.
struct Contained {
  absl::string_view message;  // The last one.
  int count = 0;
  bool holds_module = false;  // One of them is a module.
  std::string opaque_reason;
  bool cut_short = false;
};

Contained Open(absl::string_view container, absl::string_view name, uint32_t last_known) {
  Contained result;
  WireReader reader(container);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == WireType::kBytes) {
      result.message = field.bytes;
      result.holds_module |= LooksLikeModule(field.bytes);
      ++result.count;
    } else if (field.number > last_known || field.type != WireType::kBytes) {
      result.opaque_reason = absl::StrCat(name, " field ", field.number, " is unknown");
    }
  }
  if (result.count > 1) result.opaque_reason = absl::StrCat(name, " holds its module in pieces");
  if (reader.damaged()) {
    result.opaque_reason = absl::StrCat(name, " is damaged or cut short");
    result.cut_short = true;
  }
  return result;
}

}  // namespace

RecognizedGraph RecognizeGraph(absl::string_view bytes) {
  if (absl::StartsWith(bytes, kMlirMagic)) return {GraphForm::kMlirBytecode, "", ""};
  const Contained proto = Open(bytes, "HloProto", /*last_known=*/3);  // 3: buffer assignment.
  if (LooksLikeModule(bytes)) {
    RecognizedGraph graph = {GraphForm::kHloModule, bytes, ""};
    if (proto.holds_module) graph.opaque_reason = "it can be read as a module and as an HloProto";
    return graph;
  }
  if (proto.holds_module)
    return {GraphForm::kHloProto, proto.message, proto.opaque_reason, proto.cut_short};
  if (proto.count > 0) {
    const Contained inner = Open(proto.message, "HloProto", /*last_known=*/3);
    if (inner.holds_module) {
      // 2 to 4: arguments, result, platform.
      const Contained snapshot = Open(bytes, "HloSnapshot", /*last_known=*/4);
      return {GraphForm::kHloSnapshot, inner.message,
              snapshot.opaque_reason.empty() ? inner.opaque_reason : snapshot.opaque_reason,
              snapshot.cut_short || inner.cut_short};
    }
  }
  return {};
}

}  // namespace neffcache
