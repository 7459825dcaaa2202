#include "tests/bench/measurement.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "io/file.h"
#include "io/status_macros.h"

namespace neffcache::bench {

std::vector<absl::Duration> TimeEach(int rounds, absl::FunctionRef<void()> call) {
  std::vector<absl::Duration> times;
  times.reserve(rounds);
  for (int i = 0; i < rounds; ++i) {
    const absl::Time start = absl::Now();
    call();
    times.push_back(absl::Now() - start);
  }
  std::sort(times.begin(), times.end());
  return times;
}

std::vector<std::vector<absl::Duration>> TimeInTurns(
    int rounds, const std::vector<std::function<void()>>& calls) {
  std::vector<std::vector<absl::Duration>> times(calls.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < calls.size(); ++i) {
      times[i].push_back(TimeEach(1, [&] { calls[i](); }).front());
    }
  }
  for (std::vector<absl::Duration>& list : times) std::sort(list.begin(), list.end());
  return times;
}

absl::Duration Percentile(const std::vector<absl::Duration>& sorted, double fraction) {
  if (sorted.empty()) return absl::ZeroDuration();
  const size_t rank = static_cast<size_t>(std::ceil(fraction * sorted.size()));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

absl::Duration Best(const std::vector<absl::Duration>& sorted) {
  return sorted.empty() ? absl::ZeroDuration() : sorted.front();
}

void RunProgram(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error != 0 || waitpid(child, &status, 0) != child || status != 0) {
    Require(
        absl::InternalError(absl::StrCat("running ", absl::StrJoin(arguments, " "), " failed")));
  }
}

void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(EXIT_FAILURE);
}

Report::Report(std::string title, std::vector<std::string> columns)
    : title_(std::move(title)), columns_(std::move(columns)) {}

void Report::Add(std::string row, std::vector<double> values) {
  rows_.emplace_back(std::move(row), std::move(values));
}

void Report::Print() const {
  size_t name_width = title_.size();
  for (const auto& [name, values] : rows_) name_width = std::max(name_width, name.size());
  std::string text = absl::StrFormat("%-*s", name_width, title_);
  for (const std::string& column : columns_) {
    absl::StrAppend(&text, "  ",
                    absl::StrFormat("%*s", std::max<size_t>(column.size(), 8), column));
  }
  text += '\n';
  for (const auto& [name, values] : rows_) {
    absl::StrAppend(&text, absl::StrFormat("%-*s", name_width, name));
    for (size_t i = 0; i < values.size(); ++i) {
      const int digits = std::fabs(values[i]) < 100 ? 2 : 0;
      absl::StrAppend(
          &text, "  ",
          absl::StrFormat("%*.*f", std::max<size_t>(columns_[i].size(), 8), digits, values[i]));
    }
    text += '\n';
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

absl::Status Report::Save(const std::string& path) const {
  if (path.empty()) return absl::OkStatus();
  nlohmann::json rows;
  for (const auto& [name, values] : rows_) {
    for (size_t i = 0; i < values.size(); ++i) rows[name][columns_[i]] = values[i];
  }
  const nlohmann::json document = {{"title", title_}, {"rows", rows}};
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file.Write(document.dump(2)));
  RETURN_IF_ERROR(file.Write("\n"));
  return file.Commit(Durability::kBuffered);
}

}  // namespace neffcache::bench
