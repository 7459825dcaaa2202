#include "server/logging.h"

#include <grpc/support/log.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace neffcache {
namespace {

void LogOfGrpc(gpr_log_func_args* args) {
  const spdlog::level::level_enum level =
      args->severity == GPR_LOG_SEVERITY_ERROR  ? spdlog::level::err
      : args->severity == GPR_LOG_SEVERITY_INFO ? spdlog::level::info
                                                : spdlog::level::debug;
  spdlog::log(level, "event=grpc message=\"{}\"",
              absl::StrReplaceAll(args->message, {{"\"", "'"}, {"\n", " "}}));
}

}  // namespace

absl::Status CheckLogLevel(absl::string_view level) {
  // from_str answers "off" to what it does not know.
  if (level == "off" || spdlog::level::from_str(std::string(level)) != spdlog::level::off) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", level, "\" is not a level; write trace, debug, info, warning, error, critical or off"));
}

void LogOfDatabase(absl::string_view line) {
  spdlog::warn("event=database message=\"{}\"",
               absl::StrReplaceAll(line, {{"\"", "'"}, {"\n", " "}}));
}

void LogOfQueue(absl::string_view line) {
  spdlog::warn("event=queue message=\"{}\"", absl::StrReplaceAll(line, {{"\"", "'"}, {"\n", " "}}));
}

void StartLogging(absl::string_view level) {
  auto logger = std::make_shared<spdlog::logger>("neffcached",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::from_str(std::string(level)));
  logger->set_pattern("ts=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  gpr_set_log_function(LogOfGrpc);
}

}  // namespace neffcache
