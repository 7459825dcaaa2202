#pragma once

// Protobuf messages as trees that tests take apart, change and write again, in any of the ways that
// the wire format allows. Knows the field table of graph/hlo_schema.h, no protobuf library.

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/hlo_schema.h"
#include "graph/wire.h"

namespace neffcache {

struct ProtoField;

struct ProtoMessage {
  HloMessage type = HloMessage::kCount;  // kCount: nothing is known of its fields.
  std::vector<ProtoField> fields;

  // Adding fields; each returns *this, so that messages read as they are built.
  ProtoMessage& Varint(uint32_t number, uint64_t value);
  ProtoMessage& Varints(uint32_t number, const std::vector<int64_t>& values);
  ProtoMessage& Fixed32(uint32_t number, uint32_t bits);
  ProtoMessage& Fixed64(uint32_t number, uint64_t bits);
  ProtoMessage& Bytes(uint32_t number, absl::string_view bytes);
  ProtoMessage& Message(uint32_t number, ProtoMessage message);

  ProtoField* Find(uint32_t number);                // The first one, or null.
  ProtoMessage& At(uint32_t number, size_t i = 0);  // The i-th message of this number.
  void Remove(uint32_t number);
  std::vector<uint64_t> Values(uint32_t number) const;  // Of varints.
};

// One value. Packed lists are taken apart into one field an element.
struct ProtoField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;
  std::string bytes;
  bool is_message = false;
  std::vector<ProtoMessage> message;  // One, if it is a message.
};

// How to write what means the same.
struct WireStyle {
  bool shuffle_fields = false;     // Fields of different numbers in any order.
  bool vary_packing = false;       // Packed, unpacked, and packed in pieces.
  bool explicit_defaults = false;  // Scalars that are absent, written as zero.
  bool long_varints = false;       // Lengths and values in more bytes than needed.
  bool split_messages = false;     // Singular messages in two pieces, to be merged.
};

ProtoMessage ParseProto(HloMessage type, absl::string_view bytes);
std::string Serialize(const ProtoMessage& message);
std::string Serialize(const ProtoMessage& message, const WireStyle& style, std::mt19937_64& random);

}  // namespace neffcache
