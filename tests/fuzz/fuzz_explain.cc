// Two graphs out of one input, the first one's length in four bytes before them: their differences
// are found without misbehaving, are none exactly when the fingerprints are equal, and fit on their
// lines. Every graph is the same as itself, and has its parts.

#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "graph/explain.h"
#include "graph/parts.h"
#include "graph/wire.h"

namespace neffcache {
namespace {

IdentifyOptions Options() {
  IdentifyOptions options;
  options.unwrap_limit = 1 << 20;
  options.file_digest = [](absl::string_view path) -> absl::StatusOr<Digest> {
    if (path.size() % 2 == 0) return absl::NotFoundError("no such file");
    return Sha256Of(path);
  };
  return options;
}

void Check(absl::string_view before, absl::string_view after, GraphOrder order) {
  ExplainOptions options;
  options.identify = Options();
  options.identify.order = order;
  options.max_differences = 4;
  const auto explanation = ExplainGraphs(before, after, options);
  if (!explanation.ok()) return;
  const auto b = IdentifyGraph(before, options.identify);
  const auto a = IdentifyGraph(after, options.identify);
  if (!b.ok() || !a.ok()) std::abort();
  const bool same = b->fingerprint == a->fingerprint;
  if (explanation->same != same || explanation->differences.empty() != same) std::abort();
  if (explanation->differences.size() > 4 || explanation->Summary().size() > 400) std::abort();
  for (const Difference& difference : explanation->differences) {
    if (!difference.text.empty() && difference.text.size() <= 300 &&
        difference.text.find('\n') == std::string::npos) {
      continue;
    }
    std::cerr << "line: " << difference.text << "\n";
    std::abort();
  }
}

}  // namespace
}  // namespace neffcache

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace neffcache;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (size < 4) return 0;
  const absl::string_view graphs = bytes.substr(4);
  const size_t cut = LoadFixed32(bytes) % (graphs.size() + 1);
  const absl::string_view before = graphs.substr(0, cut), after = graphs.substr(cut);
  for (const GraphOrder order : {GraphOrder::kCanonical, GraphOrder::kExact}) {
    Check(before, after, order);
    Check(after, before, order);
    Check(before, before, order);
  }
  const auto parts = PartsOfGraph(before, Options());
  const auto identity = IdentifyGraph(before, Options());
  if (identity.ok() && parts.ok() != (identity->fingerprint.tag == "neffcache-hlo-1")) std::abort();
  const auto other = PartsOfGraph(after, Options());
  if (parts.ok() && other.ok() && DescribePartDifference(*parts, *other).size() > 300) std::abort();
  if (before.empty() || after.empty()) return 0;
  const auto baked = ExplainRankBakedIn({before, after}, Options());
  const bool same_skeleton = parts.ok() && other.ok() && parts->skeleton == other->skeleton;
  if (baked.ok() != same_skeleton) std::abort();
  if (baked.ok() && baked->Summary().size() > 400) std::abort();
  return 0;
}
