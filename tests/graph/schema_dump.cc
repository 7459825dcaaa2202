// Prints the field table as lines "message number type presence treatment submessage", and
// "message number inert" for fields that are kept although they are obsolete; for the audit against
// the descriptors of XLA itself.

#include <cstdint>
#include <iostream>

#include "graph/hlo_schema.h"

namespace neffcache {
namespace {

constexpr const char* kTypes[] = {"bool",  "int32",  "int64",  "uint32", "uint64", "enum",
                                  "float", "double", "string", "bytes",  "message"};
constexpr const char* kPresences[] = {"implicit", "explicit", "repeated"};

void Dump() {
  for (int i = 0; i < static_cast<int>(HloMessage::kCount); ++i) {
    const MessageSchema& schema = SchemaOf(static_cast<HloMessage>(i));
    for (const FieldSchema& field : schema.fields) {
      std::cout << i << " " << field.number << " " << kTypes[static_cast<int>(field.type)] << " "
                << kPresences[static_cast<int>(field.presence)] << " "
                << static_cast<int>(field.treatment) << " " << static_cast<int>(field.message)
                << "\n";
    }
    for (const uint32_t number : schema.inert) std::cout << i << " " << number << " inert\n";
  }
}

}  // namespace
}  // namespace neffcache

int main() {
  neffcache::Dump();
  return 0;
}
