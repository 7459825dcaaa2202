#include "client/cli/nearest_word.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"

namespace neffcache::cli {
namespace {

size_t EditDistance(absl::string_view from, absl::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestWord(absl::string_view typed, const std::vector<std::string>& words) {
  std::string nearest;
  size_t least = std::max<size_t>(2, typed.size() / 3) + 1;
  for (const std::string& word : words) {
    const bool begun = typed.size() >= 3 && absl::StartsWith(word, typed);
    const size_t distance = begun ? 1 : EditDistance(typed, word);
    if (distance >= least || distance >= word.size()) continue;
    least = distance;
    nearest = word;
  }
  return nearest;
}

}  // namespace neffcache::cli
