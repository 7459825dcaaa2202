#include "server/misses/explanation_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "io/utf8.h"

namespace neffcache {
namespace {

constexpr size_t kMostText = 600;
constexpr size_t kMostName = 60;
constexpr size_t kShownDifferences = 3;
constexpr size_t kShownKeyDigits = 12;
constexpr char kCut[] = "…";

// At most `most` bytes, cut between characters.
std::string Shorten(std::string text, size_t most) {
  if (text.size() <= most) return text;
  size_t size = most - (sizeof(kCut) - 1);
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  text.resize(size);
  return text + kCut;
}

// One line, whatever a graph is called.
std::string PrintableName(absl::string_view name) {
  std::string text = ToUtf8(name);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return Shorten(std::move(text), kMostName);
}

}  // namespace

std::string ExplainNearest(const NearEntry& nearest, const std::vector<Difference>& material,
                           absl::string_view graphs) {
  std::vector<std::string> differences;
  for (const Difference& difference : material) {
    if (differences.size() == kShownDifferences) {
      const size_t more = material.size() - kShownDifferences;
      differences.push_back(absl::StrCat("and ", more, " more of toolchain and flags"));
      break;
    }
    differences.push_back(difference.text);
  }
  if (!graphs.empty()) differences.emplace_back(graphs);
  const std::string& name = nearest.entry.graph.name;
  return Shorten(absl::StrCat("nearest ", nearest.entry.key.Hex().substr(0, kShownKeyDigits),
                              name.empty() ? "" : absl::StrCat(" (", PrintableName(name), ")"),
                              nearest.entry.failed() != nullptr ? ", which failed: " : ": ",
                              absl::StrJoin(differences, "; ")),
                 kMostText);
}

}  // namespace neffcache
