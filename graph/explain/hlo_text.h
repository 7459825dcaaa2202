#pragma once

#include <cstddef>
#include <string>

#include "graph/hlo_schema.h"
#include "graph/message_encoder.h"

namespace neffcache {

// Parts of a module as people know them from XLA's text, in one printable line of bounded length.
// Reads with the module's encoder, whose stack it leaves as it was.
class HloText {
 public:
  explicit HloText(MessageEncoder& encoder) : encoder_(encoder) {}

  enum class Layouts { kShow, kHide };

  // "bf16[8,128]{1,0}", "(f32[], s32[<=4])". `shape` are the occurrences of a field that holds one.
  std::string Shape(MessageEncoder::Fields shape, Layouts layouts);

  // What a field of `message` holds, out of its occurrences: a number, "quoted", [a,list],
  // {field: value, ...}. "absent" for no occurrences.
  std::string Value(HloMessage message, MessageEncoder::Fields group);

  // "3", "[1,2,3]": what a literal holds, apart from its shape. "none" for one that holds nothing.
  std::string LiteralValue(MessageEncoder::Fields literal);

  // "output {1} is parameter 7 {} (may)", "parameter 3 {0}": an entry of the sets of aliases and
  // donors.
  std::string SetEntry(HloMessage type, absl::string_view entry);

 private:
  void PutShape(MessageEncoder::Fields shape, Layouts layouts, int depth, std::string* out);
  void PutLayout(MessageEncoder::Fields layout, std::string* out);
  void PutValue(HloMessage message, MessageEncoder::Fields group, int depth, std::string* out);
  void PutEnumerators(HloMessage message, const FieldSchema& field, MessageEncoder::Fields group,
                      std::string* out);
  void PutUnknown(MessageEncoder::Fields group, std::string* out);
  void PutMessage(HloMessage type, MessageEncoder::Fields pieces, int depth, std::string* out);
  void PutMap(MessageEncoder::Fields group, std::string* out);
  std::string Numbers(HloMessage message, MessageEncoder::Fields group);

  MessageEncoder& encoder_;
};

// The text of a string or of bytes, quoted and cut.
std::string Quoted(absl::string_view text);

// What differs between two strings: both where they are short, else where they differ first.
std::string TextChange(absl::string_view before, absl::string_view after);

}  // namespace neffcache
