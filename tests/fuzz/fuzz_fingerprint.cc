// Whatever the bytes are, they are identified, twice alike; and what is written in another way,
// with other names and in another order of fields, keeps its fingerprint.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

#include "graph/fingerprint.h"
#include "graph/graph_form.h"
#include "tests/graph/proto_tree.h"
#include "tests/graph/rewriting.h"

namespace neffcache {
namespace {

absl::StatusOr<GraphIdentity> Identify(absl::string_view bytes, GraphOrder order) {
  IdentifyOptions options;
  options.order = order;
  options.unwrap_limit = 1 << 20;
  options.file_digest = [](absl::string_view path) -> absl::StatusOr<Digest> {
    if (path.size() % 2 == 0) return absl::NotFoundError("no such file");
    return Sha256Of(path);
  };
  return IdentifyGraph(bytes, options);
}

void ExpectSame(const GraphIdentity& a, const GraphIdentity& b, const char* what) {
  if (a.fingerprint == b.fingerprint) return;
  std::cerr << what << ": " << ToString(a.fingerprint) << " " << a.raw_reason << " against "
            << ToString(b.fingerprint) << " " << b.raw_reason << "\n";
  std::abort();
}

// Fields of one number keep their order when they are sorted, but the members of a oneof do not.
bool HoldsOneofs(const ProtoMessage& message) {
  for (const ProtoField& field : message.fields) {
    const FieldSchema* schema =
        message.type == HloMessage::kCount ? nullptr : SchemaOf(message.type).Find(field.number);
    if (schema != nullptr && schema->oneof != 0) return true;
    if (field.is_message && HoldsOneofs(field.message[0])) return true;
  }
  return false;
}

}  // namespace
}  // namespace neffcache

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace neffcache;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const GraphOrder order : {GraphOrder::kCanonical, GraphOrder::kExact}) {
    const auto identity = Identify(bytes, order);
    const auto again = Identify(bytes, order);
    if (identity.ok() != again.ok()) std::abort();
    if (!identity.ok()) return 0;
    ExpectSame(*identity, *again, "read twice");
    if (identity->dropped != again->dropped) std::abort();
    const RecognizedGraph graph = RecognizeGraph(bytes);
    if (graph.form != GraphForm::kHloModule || !identity->raw_reason.empty()) continue;
    ProtoMessage module = ParseProto(HloMessage::kModule, graph.module);
    if (HoldsOneofs(module)) continue;
    const auto rewritten = Identify(Serialize(module), order);
    if (!rewritten.ok()) std::abort();
    ExpectSame(*identity, *rewritten, "sorted by field");
  }
  return 0;
}
