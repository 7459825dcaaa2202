#include "graph/explain/printable.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace neffcache {
namespace {

constexpr absl::string_view kCut = "\u2026";

// The length of the well-formed UTF-8 sequence at the start, 0 when there is none. Control
// characters beyond ASCII and what turns the direction of writing count as none.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
  const bool control = code < 0xa0 || (code >= 0x2028 && code <= 0x202e) ||
                       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
  return control ? 0 : length;
}

}  // namespace

std::string Printable(absl::string_view text, size_t limit) {
  std::string out;
  size_t fits = 0;  // Up to here there is room for the mark of a cut.
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length > 0) {
      absl::StrAppend(&out, text.substr(0, length));
    } else {
      absl::StrAppend(&out, "\\x", absl::Hex(static_cast<uint8_t>(text[0]), absl::kZeroPad2));
    }
    text.remove_prefix(length > 0 ? length : 1);
    if (out.size() > limit) {
      out.resize(fits);
      if (limit >= kCut.size()) absl::StrAppend(&out, kCut);
      return out;
    }
    if (out.size() + kCut.size() <= limit) fits = out.size();
  }
  return out;
}

}  // namespace neffcache
