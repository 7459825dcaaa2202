#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace neffcache {

// What a child printed, in bounded memory: its beginning and its end are kept, and the text says
// how much of the middle was dropped. Errors are announced at the start of a log as often as at its
// end.
//
// Not thread-safe.
class BoundedLog {
 public:
  BoundedLog(size_t head_limit, size_t tail_limit)
      : head_limit_(head_limit), tail_limit_(tail_limit) {}

  void Append(absl::string_view bytes);

  // Everything that was kept. Raw bytes: not necessarily UTF-8.
  std::string Text() const;

  // The last line that is not blank, finished or not, at most 4 KiB. A carriage return ends a line
  // too: progress bars draw with it.
  std::string LastLine() const;

  uint64_t dropped() const;

 private:
  const size_t head_limit_;
  const size_t tail_limit_;
  std::string head_;
  std::string tail_;             // At most twice tail_limit_; its end counts.
  uint64_t tail_forgotten_ = 0;  // Bytes that were once in tail_.
};

}  // namespace neffcache
