#pragma once

#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace neffcache {

// How the store's RocksDB is set up, and why.
rocksdb::DBOptions DatabaseOptions();

// One descriptor for each Column, in its order.
std::vector<rocksdb::ColumnFamilyDescriptor> ColumnDescriptors();

}  // namespace neffcache
