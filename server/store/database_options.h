#pragma once

#include <functional>
#include <vector>

#include "absl/strings/string_view.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace neffcache {

// How the store's RocksDB is set up, and why.
rocksdb::DBOptions DatabaseOptions(std::function<void(absl::string_view)> log);

// One descriptor for each Column, in its order.
std::vector<rocksdb::ColumnFamilyDescriptor> ColumnDescriptors();

}  // namespace neffcache
