#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// How figures look to people.
namespace neffcache::cli {

// "512 B", "12.3 MB": powers of 1000, as disks and links are measured.
std::string BytesText(uint64_t bytes);
// "0.4s", "12.3s", "3m20s", "2h05m".
std::string DurationText(absl::Duration duration);
// "2023-04-05 06:07:08", local time; empty for 0.
std::string TimeText(int64_t unix_ms);

// Left-aligned columns, two spaces between them; the first row may be titles.
class Table {
 public:
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  // Without trailing blanks.
  std::vector<std::string> Lines() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace neffcache::cli
