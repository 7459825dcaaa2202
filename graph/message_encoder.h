#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "graph/background_digests.h"
#include "graph/encoding.h"
#include "graph/hlo_schema.h"
#include "graph/wire.h"
#include "io/digest.h"

namespace neffcache {

// The module's table of payloads, and which of its rows something known refers to.
struct PayloadTable {
  std::vector<absl::string_view> rows;
  std::vector<bool> referenced;
};

// Writes messages in canonical form as the schema says: fields in ascending order, merged, defaults
// left out, sets and maps sorted, unknown fields verbatim.
//
// Calls that return false have met something that the canonical form does not cover; error() says
// what, and the description is to be thrown away. Not thread-safe; the bytes that are read must
// outlive the encoder.
class MessageEncoder {
 public:
  // `long_strings` knows digests of strings of the module, or makes them; both must outlive this.
  MessageEncoder(PayloadTable* payloads, BackgroundDigests* long_strings)
      : payloads_(payloads), long_strings_(long_strings) {}

  // A stretch of the field stack: the fields of one message in ascending order, those of one number
  // in the order of the wire. Release in reverse order.
  struct Fields {
    size_t begin;
    size_t end;
  };

  // Reads the fields of a message, all but those numbered `without`.
  bool Read(const MessageSchema& schema, absl::string_view bytes, Fields* fields,
            uint32_t without = 0);
  // The same of a message in several pieces, merged as protobuf merges repeated occurrences.
  bool ReadMerged(const MessageSchema& schema, Fields pieces, Fields* fields);
  void Release(Fields fields) { stack_.resize(fields.begin); }
  const WireField& At(size_t index) const { return stack_[index]; }
  // The end of the group of fields that share the number of the one at `begin`.
  size_t GroupEnd(size_t begin, size_t end) const {
    size_t next = begin + 1;
    while (next < end && stack_[next].number == stack_[begin].number) ++next;
    return next;
  }
  // Puts `field` into the message read last, in place of all that have its number or `number`.
  void Replace(Fields* fields, uint32_t number, const WireField& field);

  // False when a field that is known by its number has a foreign wire type, where that rules out
  // renumbering.
  bool CheckTypes(const MessageSchema& schema, Fields group) {
    for (size_t i = group.begin; i < group.end; ++i) {
      const WireField& field = stack_[i];
      if (!schema.Fits(field.number, field.type) && schema.guarded &&
          schema.Find(field.number) != nullptr) {
        return FailUnknown(schema, field.number);
      }
    }
    return true;
  }

  // Writes one group of occurrences, [group.begin, group.end), of a field of `schema`.
  bool EncodeGroup(const MessageSchema& schema, Fields group, Encoding* out);
  // Writes all fields that were read, and the end mark.
  bool EncodeFields(const MessageSchema& schema, Fields fields, Encoding* out);

  // Writes the field of this number alone, if it is there, and the end mark.
  bool EncodeOnly(const MessageSchema& schema, Fields fields, uint32_t number, Encoding* out);

  // A string of the module: itself, or its length and digest when it is long. The digest is
  // remembered by address, so `bytes` must live as long as this encoder.
  void EncodeString(absl::string_view bytes, Encoding* out);
  // The same for bytes that may be gone after the call.
  void EncodeTemporary(absl::string_view bytes, Encoding* out);

  // The bytes that a Payload stands for, out of its occurrences; nothing when it is empty.
  bool Resolve(Fields payload, absl::optional<absl::string_view>* bytes);
  // Notes payload references inside the occurrences of instruction metadata, which is otherwise
  // left out.
  bool NoteMetadataPayloads(Fields metadata);

  bool Fail(std::string why);
  const std::string& error() const { return error_; }

 private:
  bool ReadInto(absl::string_view bytes, uint32_t without);
  bool Order(const MessageSchema& schema, Fields* fields);
  bool KeepLastOfOneofs(const MessageSchema& schema, Fields* fields);
  bool FailUnknown(const MessageSchema& schema, uint32_t number);
  bool EncodeKnown(const FieldSchema& field, Fields group, Encoding* out);
  bool EncodeUnknown(const MessageSchema& schema, Fields group, Encoding* out);
  bool EncodeScalar(const FieldSchema& field, const WireField& last, Encoding* out);
  bool EncodeMessage(const FieldSchema& field, Fields group, Encoding* out);
  bool EncodeMessages(const FieldSchema& field, Fields group, Encoding* out);
  bool EncodeMap(const FieldSchema& field, Fields group, Encoding* out);
  bool EncodeVarints(const FieldSchema& field, Fields group, Encoding* out);
  bool EncodeFixed(const FieldSchema& field, Fields group, Encoding* out);

  PayloadTable* const payloads_;
  BackgroundDigests* const long_strings_;
  std::vector<WireField> stack_;
  int depth_ = 0;
  // Long strings are read again where structural digests are needed, but hashed once.
  absl::flat_hash_map<const char*, std::pair<size_t, Digest>> digests_;
  // Where the canonical form of a message stands in known_text_, by its wire form; one map for each
  // type of message.
  std::array<absl::flat_hash_map<absl::string_view, std::pair<size_t, size_t>>,
             static_cast<size_t>(HloMessage::kCount)>
      known_;
  Encoding known_text_;
  std::string error_;
};

}  // namespace neffcache
