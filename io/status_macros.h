#pragma once

// The only two control-flow macros of this code base; Abseil 20220623 has neither.

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status of `expr` from this function unless it is OK.
#define RETURN_IF_ERROR(expr)                                                   \
  do {                                                                          \
    if (absl::Status status_macro_result = (expr); !status_macro_result.ok()) { \
      return status_macro_result;                                               \
    }                                                                           \
  } while (false)

#define NEFFCACHE_CONCAT_INNER(a, b) a##b
#define NEFFCACHE_CONCAT(a, b) NEFFCACHE_CONCAT_INNER(a, b)

// Moves the value of the StatusOr `expr` into `lhs`, or returns its status from this function.
#define ASSIGN_OR_RETURN(lhs, expr) \
  NEFFCACHE_ASSIGN_OR_RETURN(NEFFCACHE_CONCAT(status_macro_value_, __LINE__), lhs, expr)

#define NEFFCACHE_ASSIGN_OR_RETURN(value, lhs, expr) \
  auto value = (expr);                               \
  if (!value.ok()) return std::move(value).status(); \
  lhs = *std::move(value)
