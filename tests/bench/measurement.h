#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace neffcache::bench {

// How long each of `rounds` calls took, shortest first.
std::vector<absl::Duration> TimeEach(int rounds, absl::FunctionRef<void()> call);

// The same for several calls that take turns, so that what else the machine does falls on all of
// them alike. One list for each call.
std::vector<std::vector<absl::Duration>> TimeInTurns(
    int rounds, const std::vector<std::function<void()>>& calls);

// The value that `fraction` of the sorted values do not exceed; zero when there are none.
absl::Duration Percentile(const std::vector<absl::Duration>& sorted, double fraction);

// The shortest: the least disturbed by what else the machine does.
absl::Duration Best(const std::vector<absl::Duration>& sorted);

// Runs a program with its standard output discarded, and waits. Ends the benchmark when it fails:
// a comparison with nothing is worthless.
void RunProgram(const std::vector<std::string>& arguments);

// Ends the benchmark with a message when `status` is an error.
void Require(const absl::Status& status);

// Measurements of one benchmark program, shown as a table and kept as JSON.
class Report {
 public:
  // `columns` name the numbers of every row.
  Report(std::string title, std::vector<std::string> columns);

  // `values` are as many as the columns.
  void Add(std::string row, std::vector<double> values);

  void Print() const;
  // {"title": …, "rows": {ROW: {COLUMN: value}}} in `path`; nothing when empty.
  absl::Status Save(const std::string& path) const;

 private:
  const std::string title_;
  const std::vector<std::string> columns_;
  std::vector<std::pair<std::string, std::vector<double>>> rows_;
};

}  // namespace neffcache::bench
