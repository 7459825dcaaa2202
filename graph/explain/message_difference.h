#pragma once

#include <string>

#include "graph/encoding.h"
#include "graph/explain/field_change.h"
#include "graph/explain/hlo_text.h"
#include "graph/hlo_schema.h"
#include "graph/message_encoder.h"

namespace neffcache {

// Compares messages of two modules field by field, by their canonical forms: what an explanation
// finds is what the fingerprints see, no more and no less. Linear in the size of the messages for
// each level they are nested. Not thread-safe.
class MessageDiffer {
 public:
  using Fields = MessageEncoder::Fields;

  MessageDiffer(MessageEncoder& before, MessageEncoder& after)
      : before_(before), after_(after), before_text_(before), after_text_(after) {}

  // Compares the occurrences of one field of `message`, on the stacks of the two encoders; at most
  // one side has none. `path` names the message.
  void CompareGroup(HloMessage message, Fields before, Fields after, const std::string& path,
                    FieldChanges* changes);

  // Calls `visit(number, before, after)` for each field that is in either of two messages that were
  // read, in ascending order. Groups of absent fields are empty.
  template <typename Visit>
  void ForEachGroup(Fields before, Fields after, Visit visit) {
    size_t b = before.begin, a = after.begin;
    while (b < before.end || a < after.end) {
      const uint32_t next_before = b < before.end ? before_.At(b).number : UINT32_MAX;
      const uint32_t next_after = a < after.end ? after_.At(a).number : UINT32_MAX;
      const uint32_t number = next_before < next_after ? next_before : next_after;
      const size_t b_end = next_before == number ? before_.GroupEnd(b, before.end) : b;
      const size_t a_end = next_after == number ? after_.GroupEnd(a, after.end) : a;
      visit(number, Fields{b, b_end}, Fields{a, a_end});
      b = b_end;
      a = a_end;
    }
  }

  HloText& before_text() { return before_text_; }
  HloText& after_text() { return after_text_; }

 private:
  bool Equal(const MessageSchema& schema, Fields before, Fields after);
  void CompareMessages(HloMessage type, Fields before, Fields after, const std::string& path,
                       FieldChanges* changes);
  void CompareLists(const FieldSchema& field, Fields before, Fields after, const std::string& path,
                    FieldChanges* changes);
  void CompareSets(const FieldSchema& field, Fields before, Fields after, const std::string& path,
                   FieldChanges* changes);
  void CompareMaps(Fields before, Fields after, const std::string& path, FieldChanges* changes);
  void ComparePayloads(HloMessage message, Fields before, Fields after, const std::string& path,
                       FieldChanges* changes);
  void AddTexts(HloMessage message, Fields before, Fields after, const std::string& path,
                FieldChanges* changes);

  MessageEncoder& before_;
  MessageEncoder& after_;
  HloText before_text_;
  HloText after_text_;
  Encoding before_form_;
  Encoding after_form_;
};

}  // namespace neffcache
