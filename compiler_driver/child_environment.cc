#include "compiler_driver/child_environment.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace neffcache {
namespace {

// A trailing '*' stands for any ending.
constexpr absl::string_view kPassed[] = {
    "PATH",        "HOME",         "USER",          "LOGNAME",         "LANG",       "LANGUAGE",
    "LC_*",        "TZ",           "TMPDIR",        "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME",
    "VIRTUAL_ENV", "CONDA_PREFIX", "SSL_CERT_FILE", "SSL_CERT_DIR"};

bool Matches(absl::string_view name, absl::string_view pattern) {
  if (absl::ConsumeSuffix(&pattern, "*")) return absl::StartsWith(name, pattern);
  return name == pattern;
}

bool IsPassed(absl::string_view name, absl::Span<const std::string> also_pass) {
  for (absl::string_view pattern : kPassed) {
    if (Matches(name, pattern)) return true;
  }
  for (const std::string& pattern : also_pass) {
    if (Matches(name, pattern)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> CompilerEnvironment(
    const char* const* inherited, absl::Span<const std::string> also_pass,
    absl::Span<const std::pair<std::string, std::string>> given) {
  std::map<std::string, std::string> variables;
  for (const char* const* at = inherited; *at != nullptr; ++at) {
    const absl::string_view variable = *at;
    const size_t equals = variable.find('=');
    if (equals == absl::string_view::npos) continue;
    const absl::string_view name = variable.substr(0, equals);
    if (IsPassed(name, also_pass)) {
      variables[std::string(name)] = std::string(variable.substr(equals + 1));
    }
  }
  for (const auto& [name, value] : given) variables[name] = value;
  variables.insert_or_assign("NEFFCACHE_DISABLE", std::string(1, '1'));

  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables) environment.push_back(absl::StrCat(name, "=", value));
  return environment;
}

}  // namespace neffcache
