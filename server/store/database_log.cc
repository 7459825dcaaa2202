#include "server/store/database_log.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

namespace neffcache {

void DatabaseLog::Logv(const char* format, va_list arguments) {
  if (!write_) return;
  std::array<char, 2048> line;  // Longer ones are cut.
  const int size = std::vsnprintf(line.data(), line.size(), format, arguments);
  if (size <= 0) return;
  write_({line.data(), std::min(static_cast<size_t>(size), line.size() - 1)});
}

}  // namespace neffcache
