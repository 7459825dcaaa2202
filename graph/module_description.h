#pragma once

#include "absl/status/statusor.h"
#include "graph/fingerprint.h"
#include "graph/hlo_index.h"
#include "graph/native_kernel.h"
#include "io/digest.h"

namespace neffcache {

struct DescriptionDigests {
  Digest description;
  Digest dropped;  // Of what the description leaves out and people could still see.
};

// The scheme tag of descriptions in this order.
absl::string_view DescriptionTag(GraphOrder order);

// Hashes the canonical description of a module: every computation and every instruction once,
// under a numbering by structure (or as written), references as positions, then the module's own
// fields. It is complete and injective, so equal digests mean isomorphic modules. The format is in
// docs/formats/keys.md.
//
// `index` is reordered where its order means nothing. INVALID_ARGUMENT: the module is malformed, or
// holds what cannot be renumbered.
absl::StatusOr<DescriptionDigests> DescribeModule(HloIndex& index, GraphOrder order,
                                                  NativeKernels& kernels);

// The digest of the same description, in canonical order, without the values of scalar constants:
// equal for the graphs of several ranks where a rank was baked in. Names nothing, so it is no
// fingerprint.
absl::StatusOr<Digest> DescribeSkeleton(HloIndex& index, NativeKernels& kernels);

}  // namespace neffcache
