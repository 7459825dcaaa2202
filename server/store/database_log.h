#pragma once

#include <cstdarg>
#include <functional>
#include <utility>

#include "absl/strings/string_view.h"
#include "rocksdb/env.h"

namespace neffcache {

// RocksDB's own log, line by line to a function (which may be empty) and into no file: its log file
// ends the process (by an assertion that Debian's build has on) at the first line after a full
// disk.
//
// Thread-safe when `write` is.
class DatabaseLog : public rocksdb::Logger {
 public:
  explicit DatabaseLog(std::function<void(absl::string_view)> write)
      : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL), write_(std::move(write)) {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override;

 private:
  const std::function<void(absl::string_view)> write_;
};

}  // namespace neffcache
