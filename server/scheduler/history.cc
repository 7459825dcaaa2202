#include "server/scheduler/history.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/match.h"

namespace neffcache {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

// Results after which the table has no say any more.
constexpr uint32_t kTrusted = 3;
// Added to the largest peak seen: graphs of one size differ.
constexpr double kHeadroom = 1.15;
// Weight of the newest result.
constexpr double kFreshness = 0.25;

// A line of a prior: graphs below `size` bytes.
struct Prior {
  uint64_t size;
  uint64_t memory_bytes;
  int64_t seconds;
};

// neuronx-cc: peaks of the compiler's tree by graph size as measured in the field, made monotone
// (2-3 MB graphs took more than 3-5 MB ones); the worst graphs took 107-175 GB. Below 256 KB the
// field has only "at most 10.6 GB", so these are guesses that the first results correct.
constexpr Prior kNeuronPrior[] = {
    {64 << 10, 4 * kGiB, 10},    {256 << 10, 6 * kGiB, 30},    {1 * kMiB, 11 * kGiB, 120},
    {2 * kMiB, 15 * kGiB, 200},  {3 * kMiB, 23 * kGiB, 400},   {5 * kMiB, 23 * kGiB, 600},
    {7 * kMiB, 30 * kGiB, 1200}, {12 * kMiB, 60 * kGiB, 2000}, {UINT64_MAX, 110 * kGiB, 2400},
};

// XLA for the host CPU.
constexpr Prior kXlaPrior[] = {
    {1 * kMiB, 512 * kMiB, 3}, {5 * kMiB, 1 * kGiB, 20}, {UINT64_MAX, 2 * kGiB, 60}};

// Any other compiler.
constexpr Prior kOtherPrior[] = {{1 * kMiB, 1 * kGiB, 30}, {UINT64_MAX, 4 * kGiB, 120}};

// Large literals make a graph big but not harder to compile; where the instructions were counted,
// they bound the size that counts.
uint64_t SizeThatCounts(const GraphRecord& graph) {
  constexpr uint64_t kBytesPerInstruction = 400;
  if (graph.instructions == 0 || graph.instructions > graph.size) return graph.size;
  return std::min(graph.size, graph.instructions * kBytesPerInstruction);
}

int SizeClass(const GraphRecord& graph) {
  return static_cast<int>(
      std::floor(2 * std::log2(static_cast<double>(SizeThatCounts(graph)) + 1)));
}

template <size_t kLines>
Expectation LookUp(const Prior (&table)[kLines], uint64_t size) {
  const Prior* line =
      std::find_if(std::begin(table), std::prev(std::end(table)),
                   [size](const Prior& candidate) { return size < candidate.size; });
  return {line->memory_bytes, absl::Seconds(line->seconds)};
}

Expectation PriorOf(const Toolchain& toolchain, const GraphRecord& graph) {
  const uint64_t size = SizeThatCounts(graph);
  if (absl::StartsWith(toolchain.name, "neuron")) return LookUp(kNeuronPrior, size);
  if (absl::StartsWith(toolchain.name, "xla")) return LookUp(kXlaPrior, size);
  return LookUp(kOtherPrior, size);
}

}  // namespace

const CompileHistory::Seen* CompileHistory::Find(const Toolchain& toolchain, int size_class) const {
  for (const std::string& version : {toolchain.version, std::string()}) {
    const auto found = seen_.find({{toolchain.name, version}, size_class});
    if (found != seen_.end()) return &found->second;
  }
  return nullptr;
}

Expectation CompileHistory::Expect(const Toolchain& toolchain, const GraphRecord& graph) const {
  Expectation expected = PriorOf(toolchain, graph);
  const Seen* seen = Find(toolchain, SizeClass(graph));
  if (seen == nullptr) return expected;
  const auto peak = static_cast<uint64_t>(seen->peak_memory_bytes * kHeadroom);
  if (peak > 0) {
    expected.memory_bytes = seen->count >= kTrusted ? peak : std::max(peak, expected.memory_bytes);
  }
  if (seen->seconds > 0) expected.duration = absl::Seconds(seen->seconds);
  return expected;
}

void CompileHistory::Learn(const Toolchain& toolchain, const GraphRecord& graph,
                           uint64_t peak_memory_bytes, absl::Duration compile_time) {
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(compile_time));
  const auto peak = static_cast<double>(peak_memory_bytes);
  for (const std::string& version : {toolchain.version, std::string()}) {
    Seen& seen = seen_[{{toolchain.name, version}, SizeClass(graph)}];
    if (peak_memory_bytes > 0) {
      ++seen.count;
      seen.peak_memory_bytes =
          std::max(peak, seen.peak_memory_bytes + kFreshness * (peak - seen.peak_memory_bytes));
    }
    if (seconds > 0) {
      seen.seconds =
          seen.seconds == 0 ? seconds : seen.seconds + kFreshness * (seconds - seen.seconds);
    }
  }
}

}  // namespace neffcache
