#include "tests/graph/proto_tree.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>

namespace neffcache {
namespace {

const FieldSchema* SchemaOfField(const ProtoMessage& message, uint32_t number) {
  return message.type == HloMessage::kCount ? nullptr : SchemaOf(message.type).Find(number);
}

bool IsPackable(const FieldSchema* field) {
  return field != nullptr && field->presence == Presence::kRepeated &&
         field->type < FieldType::kString;
}

bool IsMessage(const FieldSchema* field) {
  return field != nullptr && field->type == FieldType::kMessage;
}

class Writer {
 public:
  Writer(const WireStyle& style, std::mt19937_64* random) : style_(style), random_(random) {}

  // A part of a split message has no defaults written out: they would override the other part.
  std::string Write(const ProtoMessage& message, bool is_part = false) {
    std::map<uint32_t, std::vector<const ProtoField*>> groups;
    for (const ProtoField& field : message.fields) groups[field.number].push_back(&field);
    std::vector<std::string> chunks;  // In an order that must stay within one number.
    std::vector<uint32_t> numbers;
    const auto add = [&](uint32_t number, std::string chunk) {
      chunks.push_back(std::move(chunk));
      numbers.push_back(number);
    };
    for (const auto& [number, group] : groups) {
      const FieldSchema* schema = SchemaOfField(message, number);
      if (IsPackable(schema)) {
        for (std::string& chunk : WriteList(*schema, group)) add(number, std::move(chunk));
        continue;
      }
      for (const ProtoField* field : group) {
        const bool splittable = field->is_message && schema != nullptr &&
                                schema->presence != Presence::kRepeated && group.size() == 1;
        if (splittable && style_.split_messages && Flip()) {
          for (const ProtoMessage& part : Split(field->message[0])) {
            add(number, Tag(number, WireType::kBytes) + Blob(Write(part, true)));
          }
        } else {
          add(number, WriteField(*field));
        }
      }
    }
    if (style_.explicit_defaults && !is_part && message.type != HloMessage::kCount) {
      for (const FieldSchema& field : SchemaOf(message.type).fields) {
        if (groups.contains(field.number) || field.presence != Presence::kImplicit) continue;
        if (IsVarint(field.type) && Flip()) {
          add(field.number, Tag(field.number, WireType::kVarint) + Number(0));
        }
        if (field.type == FieldType::kString && Flip()) {
          add(field.number, Tag(field.number, WireType::kBytes) + Blob(""));
        }
      }
    }
    return Join(std::move(chunks), numbers);
  }

 private:
  bool Flip() { return random_ != nullptr && ((*random_)() & 1) != 0; }

  std::string Number(uint64_t value) {
    std::string out;
    size_t longest = style_.long_varints && Flip() ? 10 : 1;
    while (value >= 0x80 || longest > out.size() + 1) {
      if (out.size() == 9) break;
      out.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
      if (value == 0 && out.size() > 4) longest = 0;  // Long enough.
    }
    out.push_back(static_cast<char>(value & 0x7f));
    return out;
  }
  std::string Tag(uint32_t number, WireType type) {
    std::string out;
    uint64_t value = uint64_t{number} << 3 | static_cast<uint64_t>(type);
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
    return out;
  }
  std::string Blob(const std::string& bytes) { return Number(bytes.size()) + bytes; }

  std::string Payload(const ProtoField& field) {
    if (field.is_message) return Blob(Write(field.message[0]));
    if (field.type == WireType::kVarint) return Number(field.value);
    return field.type == WireType::kBytes ? Blob(field.bytes) : field.bytes;
  }
  std::string WriteField(const ProtoField& field) {
    return Tag(field.number, field.type) + Payload(field);
  }

  // Elements of another type than the list's are fields of their own.
  std::vector<std::string> WriteList(const FieldSchema& schema,
                                     const std::vector<const ProtoField*>& group) {
    const WireType type = IsVarint(schema.type)              ? WireType::kVarint
                          : schema.type == FieldType::kFloat ? WireType::kFixed32
                                                             : WireType::kFixed64;
    std::vector<std::string> chunks;
    for (size_t i = 0; i < group.size();) {
      if (group[i]->type != type || (style_.vary_packing && Flip())) {
        chunks.push_back(WriteField(*group[i++]));
        continue;
      }
      std::string packed;
      do {
        packed += Payload(*group[i++]);
      } while (i < group.size() && group[i]->type == type && !(style_.vary_packing && Flip()));
      chunks.push_back(Tag(schema.number, WireType::kBytes) + Blob(packed));
    }
    return chunks;
  }

  // Any cut through the fields merges to the same message, but what is in a oneof stays together.
  std::vector<ProtoMessage> Split(const ProtoMessage& message) {
    const size_t at = message.fields.empty() ? 0 : (*random_)() % (message.fields.size() + 1);
    std::vector<ProtoMessage> parts(2);
    for (size_t i = 0; i < message.fields.size(); ++i) {
      parts[i < at ? 0 : 1].fields.push_back(message.fields[i]);
    }
    parts[0].type = parts[1].type = message.type;
    return parts;
  }

  std::string Join(std::vector<std::string> chunks, const std::vector<uint32_t>& numbers) {
    std::string out;
    if (!style_.shuffle_fields) {
      for (const std::string& chunk : chunks) out += chunk;
      return out;
    }
    std::map<uint32_t, std::vector<std::string>> queues;
    for (size_t i = chunks.size(); i-- > 0;) queues[numbers[i]].push_back(std::move(chunks[i]));
    std::vector<uint32_t> turns = numbers;
    std::shuffle(turns.begin(), turns.end(), *random_);
    for (uint32_t number : turns) {
      out += queues[number].back();
      queues[number].pop_back();
    }
    return out;
  }

  const WireStyle& style_;
  std::mt19937_64* const random_;
};

}  // namespace

ProtoMessage& ProtoMessage::Varint(uint32_t number, uint64_t value) {
  ProtoField field;
  field.number = number;
  field.value = value;
  fields.push_back(std::move(field));
  return *this;
}

ProtoMessage& ProtoMessage::Varints(uint32_t number, const std::vector<int64_t>& values) {
  for (int64_t value : values) Varint(number, static_cast<uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::Fixed32(uint32_t number, uint32_t bits) {
  Bytes(number, absl::string_view(reinterpret_cast<const char*>(&bits), sizeof(bits)));
  fields.back().type = WireType::kFixed32;
  return *this;
}

ProtoMessage& ProtoMessage::Fixed64(uint32_t number, uint64_t bits) {
  Bytes(number, absl::string_view(reinterpret_cast<const char*>(&bits), sizeof(bits)));
  fields.back().type = WireType::kFixed64;
  return *this;
}

ProtoMessage& ProtoMessage::Bytes(uint32_t number, absl::string_view bytes) {
  ProtoField field;
  field.number = number;
  field.type = WireType::kBytes;
  field.bytes = std::string(bytes);
  fields.push_back(std::move(field));
  return *this;
}

ProtoMessage& ProtoMessage::Message(uint32_t number, ProtoMessage message) {
  Bytes(number, "");
  fields.back().is_message = true;
  fields.back().message.push_back(std::move(message));
  return *this;
}

ProtoField* ProtoMessage::Find(uint32_t number) {
  for (ProtoField& field : fields) {
    if (field.number == number) return &field;
  }
  return nullptr;
}

ProtoMessage& ProtoMessage::At(uint32_t number, size_t i) {
  for (ProtoField& field : fields) {
    if (field.number == number && i-- == 0) return field.message.at(0);
  }
  std::abort();  // A mistake in the test.
}

void ProtoMessage::Remove(uint32_t number) {
  fields.erase(std::remove_if(fields.begin(), fields.end(),
                              [&](const ProtoField& f) { return f.number == number; }),
               fields.end());
}

std::vector<uint64_t> ProtoMessage::Values(uint32_t number) const {
  std::vector<uint64_t> values;
  for (const ProtoField& field : fields) {
    if (field.number == number) values.push_back(field.value);
  }
  return values;
}

ProtoMessage ParseProto(HloMessage type, absl::string_view bytes) {
  ProtoMessage message = {.type = type, .fields = {}};
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    const FieldSchema* schema = SchemaOfField(message, field.number);
    if (IsPackable(schema) && field.type == WireType::kBytes) {
      if (IsVarint(schema->type)) {
        ForEachPacked(field.bytes, [&](uint64_t value) { message.Varint(field.number, value); });
        continue;
      }
      const size_t width = schema->type == FieldType::kFloat ? 4 : 8;
      for (size_t i = 0; i + width <= field.bytes.size(); i += width) {
        const absl::string_view element = field.bytes.substr(i, width);
        if (width == 4) {
          message.Fixed32(field.number, LoadFixed32(element));
        } else {
          message.Fixed64(field.number, LoadFixed64(element));
        }
      }
      continue;
    }
    if (IsMessage(schema) && field.type == WireType::kBytes) {
      message.Message(field.number, ParseProto(schema->message, field.bytes));
      continue;
    }
    message.Bytes(field.number, field.bytes);
    message.fields.back().type = field.type;
    message.fields.back().value = field.value;
  }
  return message;
}

std::string Serialize(const ProtoMessage& message) {
  const WireStyle plain;
  return Writer(plain, nullptr).Write(message);
}

std::string Serialize(const ProtoMessage& message, const WireStyle& style,
                      std::mt19937_64& random) {
  return Writer(style, &random).Write(message);
}

}  // namespace neffcache
