#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/explain.h"
#include "graph/explain/printable.h"
#include "graph/flag_table.h"

namespace neffcache {
namespace {

constexpr size_t kLongestText = 300;
constexpr size_t kLongestPart = 100;
constexpr size_t kMostDifferences = 20;

struct Option {
  std::string name;
  std::string value;  // With what stands between; empty for a switch.

  std::string Text() const { return absl::StrCat(name, value.empty() ? "" : " ", value); }
};

// "--k=v" and "--k" followed by words that begin no flag are an option each.
std::vector<Option> Split(const std::vector<std::string>& arguments) {
  std::vector<Option> options;
  for (const std::string& argument : arguments) {
    if (IsFlag(argument) || options.empty()) {
      const size_t equals = argument.find('=');
      options.push_back({argument.substr(0, equals),
                         equals == std::string::npos ? "" : argument.substr(equals + 1)});
    } else {
      std::string& value = options.back().value;
      absl::StrAppend(&value, value.empty() ? "" : " ", argument);
    }
  }
  return options;
}

class MaterialDiffer {
 public:
  std::vector<Difference> Run(const KeyMaterial& before, const KeyMaterial& after) && {
    CompareToolchains(before.toolchain, after.toolchain);
    CompareOptions(Split(before.options), Split(after.options));
    if (before.options != after.options && !options_differ_) {
      Add(Difference::Kind::kOption, "flags in another order or spelling");
    }
    return std::move(differences_);
  }

 private:
  void Add(Difference::Kind kind, absl::string_view text) {
    options_differ_ |= kind == Difference::Kind::kOption;
    if (differences_.size() == kMostDifferences) return;
    differences_.push_back({kind, Printable(text, kLongestText), ""});
  }

  void CompareToolchains(const Toolchain& before, const Toolchain& after) {
    if (before == after) return;
    const std::string was = Printable(before.version, kLongestPart);
    const std::string is = Printable(after.version, kLongestPart);
    Add(Difference::Kind::kToolchain,
        before.name == after.name
            ? absl::StrCat("toolchain ", Printable(after.name, 40), " ", was, kBecomes, is)
            : absl::StrCat("toolchain ", Printable(before.name, 40), " ", was, kBecomes,
                           Printable(after.name, 40), " ", is));
  }

  // Options of one name are paired in order.
  void CompareOptions(const std::vector<Option>& before, const std::vector<Option>& after) {
    std::map<std::string, std::vector<const Option*>> by_name;
    for (const Option& option : after) by_name[option.name].push_back(&option);
    for (auto& [name, options] : by_name) std::reverse(options.begin(), options.end());
    for (const Option& was : before) {
      std::vector<const Option*>& others = by_name[was.name];
      if (others.empty()) {
        Add(Difference::Kind::kOption, absl::StrCat("- flag ", Printable(was.Text(), 200)));
        continue;
      }
      const Option& is = *others.back();
      others.pop_back();
      if (was.value == is.value) continue;
      const auto value = [](const Option& option) {
        return option.value.empty() ? std::string("without value")
                                    : Printable(option.value, kLongestPart);
      };
      Add(Difference::Kind::kOption,
          absl::StrCat("flag ", Printable(was.name, 60), " ", value(was), kBecomes, value(is)));
    }
    for (const auto& [name, options] : by_name) {
      for (size_t i = options.size(); i-- > 0;) {
        Add(Difference::Kind::kOption, absl::StrCat("+ flag ", Printable(options[i]->Text(), 200)));
      }
    }
  }

  std::vector<Difference> differences_;
  bool options_differ_ = false;
};

}  // namespace

std::vector<Difference> ExplainMaterial(const KeyMaterial& before, const KeyMaterial& after) {
  return MaterialDiffer().Run(before, after);
}

}  // namespace neffcache
