#include "graph/explain/json_difference.h"

#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/explain/hlo_text.h"
#include "graph/explain/printable.h"

namespace neffcache {
namespace {

using Json = nlohmann::json;

constexpr size_t kLargest = size_t{1} << 20;
constexpr int kDeepest = 64;
constexpr size_t kLongestValue = 48;

// Brackets within strings count, too: what has many is not worth a second look.
bool IsShallow(absl::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kDeepest || depth < -kDeepest) return false;
  }
  return true;
}

bool Parse(absl::string_view config, Json* json) {
  if (config.size() > kLargest) return false;
  std::string text(config);
  if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(config), "{") &&
      !absl::Base64Unescape(config, &text)) {
    return false;
  }
  if (!IsShallow(text)) return false;
  *json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json->is_object();
}

std::string Text(const Json* json) {
  if (json == nullptr) return "absent";
  // Invalid UTF-8 is replaced, since the parser lets none through anyway.
  const std::string text = json->dump(-1, ' ', false, Json::error_handler_t::replace);
  return Printable(text, kLongestValue);
}

class JsonDiffer {
 public:
  JsonDiffer(const IdentifyOptions& options, FieldChanges* changes)
      : options_(options), changes_(*changes) {}

  // Depth is bounded by what was parsed. Null: absent.
  void Compare(const Json* before, const Json* after, const std::string& where,
               const std::string& path) {
    if (before != nullptr && after != nullptr) {
      if (before->is_object() && after->is_object())
        return CompareObjects(*before, *after, where, path);
      if (before->is_array() && after->is_array() && before->size() == after->size()) {
        for (size_t i = 0; i < before->size(); ++i) {
          const std::string step = absl::StrCat("[", i, "]");
          Compare(&(*before)[i], &(*after)[i], where + step, path + step);
        }
        return;
      }
      if (*before == *after) return;
      if (where == ".klir_binary.binary" && before->is_string() && after->is_string()) {
        return CompareFiles(before->get_ref<const std::string&>(),
                            after->get_ref<const std::string&>(), path);
      }
    }
    changes_.Add(path, absl::StrCat(Text(before), kBecomes, Text(after)));
  }

 private:
  void CompareObjects(const Json& before, const Json& after, const std::string& where,
                      const std::string& path) {
    const auto step = [](const std::string& name) {
      return absl::StrCat(".", Printable(name, kLongestValue));
    };
    for (const auto& [name, value] : before.items()) {
      const auto other = after.find(name);
      const std::string member = step(name);
      Compare(&value, other == after.end() ? nullptr : &*other, where + member, path + member);
    }
    for (const auto& [name, value] : after.items()) {
      if (!before.contains(name)) Compare(nullptr, &value, where + step(name), path + step(name));
    }
  }

  void CompareFiles(const std::string& before, const std::string& after, const std::string& path) {
    if (options_.file_digest != nullptr) {
      const absl::StatusOr<Digest> b = options_.file_digest(before);
      const absl::StatusOr<Digest> a = options_.file_digest(after);
      const auto base = [](const std::string& file) { return file.substr(file.rfind('/') + 1); };
      if (b.ok() && a.ok() && base(before) == base(after)) {
        if (*b == *a) return;
        changes_.Add(path,
                     absl::StrCat("the content of ", Printable(base(after), kLongestValue), " ",
                                  b->Hex().substr(0, 8), kBecomes, a->Hex().substr(0, 8)));
        return;
      }
    }
    changes_.Add(path, TextChange(before, after));
  }

  const IdentifyOptions& options_;
  FieldChanges& changes_;
};

}  // namespace

bool CompareJson(absl::string_view before, absl::string_view after, const IdentifyOptions& options,
                 const std::string& path, FieldChanges* changes) {
  Json before_json, after_json;
  if (!Parse(before, &before_json) || !Parse(after, &after_json)) return false;
  const uint64_t count = changes->count();
  JsonDiffer(options, changes).Compare(&before_json, &after_json, "", path);
  return changes->count() > count;
}

}  // namespace neffcache
