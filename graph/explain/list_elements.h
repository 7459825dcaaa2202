#pragma once

// The elements of lists of numbers: read one by one, written for people, compared.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/hlo_schema.h"
#include "graph/message_encoder.h"

namespace neffcache {

// What an element of a list is.
struct ElementType {
  enum class Kind {
    kBool,
    kSigned,
    kUnsigned,
    kFloat,   // IEEE of 4 or 8 bytes.
    kHalf,    // IEEE of 2 bytes.
    kBfloat,  // The upper half of a float.
    kHex,     // Small floats and packed nibbles, as their bits.
  };
  Kind kind = Kind::kSigned;
  size_t width = 0;      // Bytes; of varints 0.
  bool complex = false;  // Two of them make an element.
  bool bare = false;     // One element alone is written without brackets, as literals are.
};

// Of a field that holds a list of numbers; of a literal's, also where they are packed into bytes.
// False for other fields.
bool ElementTypeOf(HloMessage message, const FieldSchema& field, ElementType* type);

// Walks the elements of a group of occurrences of one field, which must stay on the encoder's
// stack.
class ListReader {
 public:
  ListReader(const MessageEncoder& encoder, MessageEncoder::Fields group, const FieldSchema& field,
             const ElementType& type)
      : encoder_(encoder), next_(group.begin), end_(group.end), field_(field), type_(type) {}

  // The bits of the next element, sign-extended where the type is; false at the end or at damage.
  bool Next(uint64_t* bits);

 private:
  const MessageEncoder& encoder_;
  size_t next_;
  const size_t end_;
  const FieldSchema& field_;
  const ElementType& type_;
  absl::string_view chunk_;  // What is left of a packed occurrence.
};

std::string ElementText(const ElementType& type, uint64_t bits);

// "[1,0]"; of long ones the first few and how many there are.
std::string ListText(ListReader reader, const ElementType& type);

// What differs between two lists: "[1] → [0]" where that is short, else "3 of 1024 elements differ,
// first at 17: 0.5 → 0.25".
std::string ListChange(ListReader before, ListReader after, const ElementType& type);

}  // namespace neffcache
