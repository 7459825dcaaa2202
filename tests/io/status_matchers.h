#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace neffcache {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).ok();
}

MATCHER_P(HasCode, code, "has the code " + absl::StatusCodeToString(code)) {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).code() == code;
}

MATCHER_P(Says, text, std::string("says \"") + text + "\"") {
  *result_listener << StatusOf(arg);
  return testing::Value(std::string(StatusOf(arg).message()), testing::HasSubstr(text));
}

}  // namespace neffcache
