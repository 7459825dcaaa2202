#include "graph/explain/findings.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/explain/printable.h"

namespace neffcache {
namespace {

constexpr size_t kLongestText = 300;
constexpr size_t kNotKept = SIZE_MAX;

absl::string_view BaseName(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The file's own name, with its directory where another file has that name.
std::string SourceText(const SourceLine& source, const std::set<std::string>& ambiguous) {
  if (source.file.empty()) return "";
  absl::string_view name = BaseName(source.file);
  if (ambiguous.contains(std::string(name))) {
    const size_t directory = absl::string_view(source.file).rfind('/');
    if (directory != absl::string_view::npos && directory > 0) {
      const size_t parent = absl::string_view(source.file).rfind('/', directory - 1);
      name =
          absl::string_view(source.file).substr(parent == absl::string_view::npos ? 0 : parent + 1);
    }
  }
  return source.line > 0 ? absl::StrCat(name, ":", source.line) : std::string(name);
}

}  // namespace

// In order of importance: by kind, consequences last. Computations that come with the instructions
// that call them say less than those.
size_t Findings::ClassOf(Difference::Kind kind, bool follows) {
  constexpr size_t kInstruction = 2 * static_cast<size_t>(Difference::Kind::kInstruction);
  static_assert(Difference::Kind::kComputation < Difference::Kind::kInstruction);
  const size_t place = 2 * static_cast<size_t>(kind) + follows;
  if (kind == Difference::Kind::kComputation && follows) return kInstruction + 1;
  return kind == Difference::Kind::kInstruction ? place - 1 : place;
}

void Findings::Add(Finding finding) {
  std::vector<Kept>& kept = kept_[ClassOf(finding.kind, finding.follows)];
  if (finding.foldable) {
    const std::string key = absl::StrCat(ClassOf(finding.kind, finding.follows), finding.change);
    const auto known = folds_.find(key);
    if (known != folds_.end()) {
      if (known->second.second != kNotKept) {
        ++kept_[known->second.first][known->second.second].likewise;
      }
      return;
    }
    if (folds_.size() < kMostFolds) {
      folds_.emplace(key, std::make_pair(ClassOf(finding.kind, finding.follows),
                                         kept.size() < limit_ ? kept.size() : kNotKept));
    }
  }
  ++count_;
  if (kept.size() < limit_) kept.push_back({std::move(finding), 0});
}

// The first that changes a shape, else the first of all.
const Findings::Kept* Findings::CauseOfShapes() const {
  const Kept* first = nullptr;
  for (const std::vector<Kept>& kept : kept_) {
    for (const Kept& k : kept) {
      if (k.finding.has_shape) return &k;
      if (first == nullptr) first = &k;
    }
  }
  return first;
}

void Findings::MoveTo(Explanation* explanation) {
  std::map<std::string, std::set<std::string>> paths;  // By base name.
  for (const std::vector<Kept>& kept : kept_) {
    for (const Kept& k : kept) {
      const std::string& file = k.finding.source.file;
      if (!file.empty()) paths[std::string(BaseName(file))].insert(file);
    }
  }
  std::set<std::string> ambiguous;
  for (const auto& [name, files] : paths) {
    if (files.size() > 1) ambiguous.insert(name);
  }
  const Kept* const cause = CauseOfShapes();
  for (std::vector<Kept>& kept : kept_) {
    for (Kept& k : kept) {
      if (explanation->differences.size() == limit_) break;
      Difference difference;
      difference.kind = k.finding.kind;
      difference.source = SourceText(k.finding.source, ambiguous);
      std::string text = k.finding.subject;
      if (!difference.source.empty()) {
        absl::StrAppend(&text, text.empty() ? "(" : " (", difference.source, ")");
      }
      absl::StrAppend(&text, text.empty() || k.finding.change.empty() ? "" : ": ",
                      k.finding.change);
      std::string tail;
      if (k.likewise > 0) tail = absl::StrCat(" (and ", k.likewise, " more likewise)");
      if (following_shapes_ > 0 && &k == cause) {
        absl::StrAppend(&tail, ", and ", following_shapes_,
                        following_shapes_ == 1 ? " shape that follows" : " shapes that follow");
      }
      difference.text = absl::StrCat(Printable(text, kLongestText - tail.size()), tail);
      explanation->differences.push_back(std::move(difference));
    }
  }
  explanation->omitted += count_ - explanation->differences.size();
}

}  // namespace neffcache
