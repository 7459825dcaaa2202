#pragma once

// Packed lists of numbers: how they stand on the wire, and how they are written in a description.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "graph/encoding.h"
#include "graph/hlo_schema.h"
#include "io/digest.h"

namespace neffcache {

// True when a packed list of varints stands on the wire as a description has it: each value as its
// type reads it, in as few bytes as it takes. Most do, and need not be taken apart.
bool IsCanonicalPacked(FieldType type, absl::string_view bytes);

// How many varints end in these bytes.
uint64_t CountVarints(absl::string_view bytes);

// Writes the items of a list, whose length is not known beforehand: as they are while they are
// short, into a digest from there on.
class ListBody {
 public:
  explicit ListBody(Encoding* out) : out_(out), begin_(out->size()) {}

  void Add(uint64_t value) {
    out_->PutVarint(value);
    Spill();
  }
  void Add(absl::string_view bytes) {
    if (hash_.has_value()) {
      Flush();
      hash_->Update(bytes);
      hashed_ += bytes.size();
    } else {
      out_->PutRaw(bytes);
      Spill();
    }
  }

  // Puts the mark of how the items were written before them.
  void Finish() {
    if (!hash_.has_value()) {
      const std::string items(out_->view(begin_, out_->size()));
      out_->Truncate(begin_);
      out_->PutByte(kInline);
      out_->PutBlob(items);
      return;
    }
    Flush();
    out_->PutByte(kHashed);
    out_->PutVarint(hashed_);
    out_->PutRaw(hash_->Finish().bytes());
  }

 private:
  void Spill() {
    if (out_->size() - begin_ > kInlineLimit) {
      if (!hash_.has_value()) hash_.emplace();
      Flush();
    }
  }
  void Flush() {
    const absl::string_view items = out_->view(begin_, out_->size());
    hash_->Update(items);
    hashed_ += items.size();
    out_->Truncate(begin_);
  }

  Encoding* const out_;
  const size_t begin_;
  uint64_t hashed_ = 0;
  absl::optional<Sha256> hash_;
};

}  // namespace neffcache
