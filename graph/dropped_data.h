#pragma once

#include "absl/strings/string_view.h"
#include "graph/encoding.h"
#include "io/digest.h"

namespace neffcache {

// Collects the digest of what a description leaves out and people could still see in an artifact.
class DroppedData {
 public:
  enum class Kind : char {
    kModuleName = 'n',
    kStackFrames = 'f',
    kParameterName = 'p',
    kMetadata = 'm',
  };

  // Without `wanted` nothing is collected.
  explicit DroppedData(bool wanted) : wanted_(wanted) {}

  void Note(Kind kind, absl::string_view bytes) {
    if (!wanted_) return;
    text_.PutByte(static_cast<char>(kind));
    text_.PutBlob(bytes);
    text_.FlushInto(hash_);
  }
  Digest Finish() {
    text_.FlushInto(hash_, 0);
    return hash_.Finish();
  }

 private:
  const bool wanted_;
  Encoding text_;
  Sha256 hash_;
};

}  // namespace neffcache
