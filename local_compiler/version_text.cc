#include "local_compiler/version_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace neffcache {
namespace {

bool IsVersion(absl::string_view text) {
  constexpr size_t kLongest = 128;
  constexpr absl::string_view kCharacters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-_";
  return !text.empty() && text.size() <= kLongest &&
         absl::ascii_isdigit(static_cast<unsigned char>(text.front())) &&
         text.find_first_not_of(kCharacters) == absl::string_view::npos;
}

}  // namespace

std::string ParseNeuronxCcVersion(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, absl::ByAnyChar("\r\n"))) {
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "NeuronX Compiler version ")) continue;
    line = absl::StripAsciiWhitespace(line);
    if (IsVersion(line)) return std::string(line);
  }
  return "";
}

std::string ParseXlaCpuVersion(absl::string_view text) {
  constexpr size_t kLongest = 256;
  for (absl::string_view line : absl::StrSplit(text, absl::ByAnyChar("\r\n"))) {
    if (!absl::ConsumePrefix(&line, "xla-cpu ")) continue;
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty() && line.size() <= kLongest) return std::string(line);
  }
  return "";
}

}  // namespace neffcache
