#pragma once

// A module in which every field of every message of the table occurs, and a walk over its messages.

#include <functional>
#include <string>

#include "graph/hlo_schema.h"
#include "tests/graph/proto_tree.h"

namespace neffcache {

// True for a field whose values are ids, or that holds what ids stand for: it cannot be set to just
// anything in a well-formed module.
bool IsReference(const FieldSchema& field);

// Well formed. Every field has a value that is not its default; of a oneof the member that comes
// `member`-th (0 to 2) is set.
ProtoMessage FullModule(int member = 0);

// Calls `visit` for each message in the tree with its path and whether the canonical form drops it.
void ForEachMessage(
    ProtoMessage& message, bool dropped, const std::string& path,
    const std::function<void(ProtoMessage&, bool dropped, const std::string& path)>& visit);

}  // namespace neffcache
