#include "server/store/counter_merge.h"

namespace neffcache {

int64_t DecodeCounter(absl::string_view value) {
  if (value.size() != sizeof(int64_t)) return 0;
  uint64_t bits = 0;
  for (size_t i = 0; i < sizeof(bits); ++i) {
    bits |= uint64_t{static_cast<unsigned char>(value[i])} << (8 * i);
  }
  return static_cast<int64_t>(bits);
}

std::string EncodeCounter(int64_t value) {
  std::string bytes(sizeof(value), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  return bytes;
}

bool CounterMerge::Merge(const rocksdb::Slice&, const rocksdb::Slice* existing,
                         const rocksdb::Slice& delta, std::string* sum, rocksdb::Logger*) const {
  const int64_t before =
      existing == nullptr ? 0 : DecodeCounter({existing->data(), existing->size()});
  *sum = EncodeCounter(before + DecodeCounter({delta.data(), delta.size()}));
  return true;
}

}  // namespace neffcache
