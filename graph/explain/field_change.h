#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace neffcache {

// What differs between two fields that should be one.
struct FieldChange {
  std::string path;  // "lhs_contracting_dimensions", "window.dimensions[0].size".
  std::string text;  // "[1] → [0]".
};

// The first few changes, and how many there are.
class FieldChanges {
 public:
  static constexpr size_t kMostKept = 6;

  void Add(std::string path, std::string text) {
    ++count_;
    if (kept_.size() < kMostKept) kept_.push_back({std::move(path), std::move(text)});
  }
  // Whether a further change would only be counted.
  bool full() const { return kept_.size() >= kMostKept; }
  uint64_t count() const { return count_; }
  const std::vector<FieldChange>& kept() const { return kept_; }

 private:
  std::vector<FieldChange> kept_;
  uint64_t count_ = 0;
};

}  // namespace neffcache
