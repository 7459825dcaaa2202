#pragma once

#include "graph/explain/findings.h"
#include "graph/explain/numbered_module.h"
#include "graph/fingerprint.h"

namespace neffcache {

// Finds how one module differs from another. Computations are the same where their content is;
// others are paired by what calls them, then by name, and compared instruction by instruction.
// Finds something unless the modules are the same under a canonical numbering, save for what only
// their numberings tell apart.
void CompareModules(NumberedModule& before, NumberedModule& after, const IdentifyOptions& options,
                    Findings* findings);

// The same modules, compared by the order in which they are written.
void CompareWrittenOrder(const NumberedModule& before, const NumberedModule& after,
                         Findings* findings);

}  // namespace neffcache
