#include "graph/native_kernel.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/encoding.h"
#include "graph/graph_pack.h"

namespace neffcache {
namespace {

using Json = nlohmann::json;

constexpr size_t kDepthLimit = 64;
constexpr size_t kLongestPath = 4096;  // PATH_MAX: longer strings are data.

// Kinds of JSON values in the canonical form.
constexpr char kNull = 'n', kFalse = 'f', kTrue = 't', kInteger = 'i', kUnsigned = 'u',
               kFloat = 'r', kString = 's', kArray = 'a', kObject = 'o', kFile = 'F';

// Members that are known to name a file.
bool IsKnownPathMember(const std::vector<std::string>& where) {
  return where.size() == 2 && where[0] == "klir_binary" && where[1] == "binary";
}

// Builds the canonical form while the parser walks the text; numbers with a fraction are kept as
// text, so that no two are taken for one.
class Canonicalizer : public nlohmann::json_sax<Json> {
 public:
  // `describe_file` writes what stands in for a path; it returns false to give up.
  using DescribeFile = absl::FunctionRef<bool(const std::string& path, Encoding* out)>;

  explicit Canonicalizer(DescribeFile describe_file) : describe_file_(describe_file) {
    levels_.emplace_back();
  }

  // Valid after a parse that succeeded.
  std::string TakeResult() { return std::move(levels_[0].items); }
  const std::string& error() const { return error_; }

  bool null() override { return Put(kNull, ""); }
  bool boolean(bool value) override { return Put(value ? kTrue : kFalse, ""); }
  bool number_integer(number_integer_t value) override {
    return Put(kInteger, absl::StrCat(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Put(kUnsigned, absl::StrCat(value));
  }
  bool number_float(number_float_t, const string_t& text) override { return Put(kFloat, text); }
  bool string(string_t& value) override {
    if (!IsKnownPathMember(where_)) {
      if (LooksLikePath(value)) return Fail(absl::StrCat("member ", Where(), " may name a file"));
      return Put(kString, value);
    }
    if (value.empty() || value[0] != '/' || value.size() > kLongestPath ||
        absl::StrContains(value, '\0')) {
      return Fail(absl::StrCat("member ", Where(), " is no absolute path"));
    }
    Encoding out;
    if (!describe_file_(value, &out)) return false;
    return Put(kFile, out.view());
  }
  bool binary(binary_t&) override { return Fail("it holds binary data"); }

  bool start_object(std::size_t) override { return Open(kObject); }
  bool key(string_t& name) override {
    if (LooksLikePath(name)) return Fail(absl::StrCat("member name ", name, " may name a file"));
    where_.back() = name;
    return true;
  }
  bool end_object() override {
    Level level = Close();
    std::sort(level.members.begin(), level.members.end());
    Encoding out;
    out.PutVarint(level.members.size());
    for (size_t i = 0; i < level.members.size(); ++i) {
      const auto& [name, value] = level.members[i];
      if (i > 0 && level.members[i - 1].first == name) {
        return Fail(absl::StrCat("it has the member ", name, " twice"));
      }
      out.PutBlob(name);
      out.PutRaw(value);
    }
    return Put(kObject, out.view());
  }
  bool start_array(std::size_t) override { return Open(kArray); }
  bool end_array() override {
    Level level = Close();
    Encoding out;
    out.PutVarint(level.count);
    out.PutRaw(level.items);
    return Put(kArray, out.view());
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return Fail("it is not JSON");
  }

 private:
  struct Level {
    char kind = kArray;
    std::string items;  // Of an array, and of the whole text.
    uint64_t count = 0;
    std::vector<std::pair<std::string, std::string>> members;
  };

  bool Fail(std::string why) {
    if (error_.empty()) error_ = std::move(why);
    return false;
  }

  bool Open(char kind) {
    if (levels_.size() > kDepthLimit) return Fail("it is nested too deep");
    levels_.emplace_back();
    levels_.back().kind = kind;
    where_.push_back(kind == kArray ? "[]" : "");
    return true;
  }
  Level Close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    where_.pop_back();
    return level;
  }

  bool Put(char kind, absl::string_view text) {
    Encoding out;
    out.PutByte(kind);
    out.PutBlob(text);
    Level& level = levels_.back();
    if (level.kind == kObject) {
      level.members.emplace_back(where_.back(), std::string(out.view()));
    } else {
      level.items.append(out.view().data(), out.size());
      ++level.count;
    }
    return true;
  }

  std::string Where() const {
    std::string text;
    for (const std::string& step : where_) absl::StrAppend(&text, text.empty() ? "" : ".", step);
    return text;
  }

  const DescribeFile describe_file_;
  std::vector<Level> levels_;
  std::vector<std::string> where_;  // Names on the way to the value being read.
  std::string error_;
};

bool IsPathCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '/' || c == '_' || c == '-' || c == '.' || c == '+' ||
         c == '~' || c == '%';
}

// Suffixes of files that kernels are kept in.
bool HasKernelSuffix(absl::string_view text) {
  for (absl::string_view suffix :
       {".klir", ".klr", ".bir", ".neff", ".so", ".o", ".a", ".npy", ".npz", ".bin", ".pb", ".json",
        ".py", ".mlir", ".nki", ".isa", ".elf"}) {
    if (absl::EndsWithIgnoreCase(text, suffix)) return true;
  }
  return false;
}

}  // namespace

bool LooksLikePath(absl::string_view text) {
  if (text.empty() || text.size() > 16 * kLongestPath) return false;
  const char first = text[0];
  if (first == '/' || first == '~' || absl::StartsWith(text, "./") ||
      absl::StartsWith(text, "../") || absl::StrContains(text, "://") ||
      absl::StartsWith(text, "file:")) {
    return text.size() > 1;
  }
  if (HasKernelSuffix(text)) return true;
  // An absolute path of two parts or more within other text, such as nested JSON.
  for (size_t slash = text.find('/', 1); slash != absl::string_view::npos;
       slash = text.find('/', slash + 1)) {
    if (IsPathCharacter(text[slash - 1])) continue;
    size_t end = slash + 1;
    while (end < text.size() && IsPathCharacter(text[end])) ++end;
    if (absl::StrContains(text.substr(slash + 1, end - slash - 1), '/')) return true;
  }
  return false;
}

void NativeKernels::Refuse(std::string reason) {
  if (reason_.empty()) reason_ = std::move(reason);
}

bool NativeKernels::FileDigest(const std::string& path, Digest* digest) {
  if (const auto known = digests_.find(path); known != digests_.end()) {
    *digest = known->second;
    return true;
  }
  if (options_.file_digest == nullptr) {
    Refuse(absl::StrCat("it runs the kernel file ", path, ", which does not travel with it"));
    return false;
  }
  if (const absl::Status checked = CheckKernelPath(path); !checked.ok()) {
    Refuse(absl::StrCat("the kernel file ", path, " cannot travel: ", checked.message()));
    return false;
  }
  if (files_.size() >= kMaxKernelFiles) {
    Refuse(absl::StrCat("it names more than ", kMaxKernelFiles, " kernel files"));
    return false;
  }
  const absl::StatusOr<Digest> read = options_.file_digest(path);
  if (!read.ok()) {
    Refuse(absl::StrCat("the kernel file ", path, " cannot be read: ", read.status().message()));
    return false;
  }
  *digest = *read;
  digests_.emplace(path, *read);
  const auto [same, is_new] = by_name_.emplace(std::string(KernelFileName(path)), *read);
  if (!is_new && same->second != *read) {
    Refuse(absl::StrCat("two kernel files have the name ", same->first, " and differ"));
    return false;
  }
  files_.push_back({path, *read});
  return true;
}

bool NativeKernels::Describe(absl::string_view backend_config, std::string* canonical) {
  std::string text;
  const bool plain = absl::StartsWith(absl::StripLeadingAsciiWhitespace(backend_config), "{");
  if (plain) {
    text = std::string(backend_config);
  } else if (!absl::Base64Unescape(backend_config, &text)) {
    Refuse("the configuration of a kernel call is not base64");
    return false;
  }
  const auto describe_file = [this](const std::string& path, Encoding* out) {
    Digest digest;
    if (!FileDigest(path, &digest)) return false;
    out->PutBlob(KernelFileName(path));
    out->PutRaw(digest.bytes());
    return true;
  };
  Canonicalizer canonicalizer(describe_file);
  bool parsed = false;
  try {
    parsed = Json::sax_parse(text, &canonicalizer);
  } catch (const std::exception&) {
    parsed = false;  // The parser's own limits.
  }
  if (!parsed) {
    Refuse(absl::StrCat("the configuration of a kernel call cannot be covered: ",
                        canonicalizer.error().empty() ? "it is not JSON" : canonicalizer.error()));
    return false;
  }
  canonical->assign(1, plain ? 'J' : 'B');
  canonical->append(canonicalizer.TakeResult());
  return true;
}

void NativeKernels::NoteForeign(absl::string_view backend_config) {
  std::string decoded;
  if (LooksLikePath(backend_config) ||
      (absl::Base64Unescape(backend_config, &decoded) && LooksLikePath(decoded))) {
    Refuse("the configuration of a custom Neuron call may name a file");
  }
}

}  // namespace neffcache
