#pragma once

// How the tables of this folder write a field: constructors for the types, modifiers around them.

#include <cstdint>

#include "graph/hlo_schema.h"

namespace neffcache::schema {

using enum Treatment;
using M = HloMessage;

constexpr FieldSchema Bool(uint32_t number, const char* name) {
  return {number, name, FieldType::kBool};
}
constexpr FieldSchema I32(uint32_t number, const char* name) {
  return {number, name, FieldType::kInt32};
}
constexpr FieldSchema I64(uint32_t number, const char* name) {
  return {number, name, FieldType::kInt64};
}
constexpr FieldSchema U32(uint32_t number, const char* name) {
  return {number, name, FieldType::kUint32};
}
constexpr FieldSchema U64(uint32_t number, const char* name) {
  return {number, name, FieldType::kUint64};
}
constexpr FieldSchema Enum(uint32_t number, const char* name) {
  return {number, name, FieldType::kEnum};
}
constexpr FieldSchema F32(uint32_t number, const char* name) {
  return {number, name, FieldType::kFloat};
}
constexpr FieldSchema F64(uint32_t number, const char* name) {
  return {number, name, FieldType::kDouble};
}
constexpr FieldSchema Str(uint32_t number, const char* name) {
  return {number, name, FieldType::kString};
}
constexpr FieldSchema Bytes(uint32_t number, const char* name) {
  return {number, name, FieldType::kBytes};
}
constexpr FieldSchema Msg(uint32_t number, M message, const char* name) {
  return {number, name, FieldType::kMessage, Presence::kExplicit, kKeep, message};
}
constexpr FieldSchema Rep(FieldSchema field) {
  field.presence = Presence::kRepeated;
  return field;
}
constexpr FieldSchema Opt(FieldSchema field) {
  field.presence = Presence::kExplicit;
  return field;
}
constexpr FieldSchema OneOf(uint8_t oneof, FieldSchema field) {
  field.presence = Presence::kExplicit;
  field.oneof = oneof;
  return field;
}
constexpr FieldSchema As(Treatment treatment, FieldSchema field) {
  field.treatment = treatment;
  return field;
}
// A dropped message is never looked into, so its own fields need no table.
constexpr FieldSchema Dropped(FieldSchema field) {
  return As(kDrop, field);
}
constexpr FieldSchema Unread(uint32_t number, const char* name) {
  return Msg(number, M::kCount, name);
}

}  // namespace neffcache::schema
