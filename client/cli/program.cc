#include "client/cli/program.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/session.h"

namespace neffcache::cli {
namespace {

constexpr char kVersion[] = "neffcache " NEFFCACHE_VERSION;

// Takes what follows "--" off the arguments: compiler flags are not ours to parse.
std::vector<std::string> TakeFlags(std::vector<std::string>& arguments, bool& given) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  given = separator != arguments.end();
  if (!given) return {};
  std::vector<std::string> flags(separator + 1, arguments.end());
  arguments.erase(separator, arguments.end());
  return flags;
}

void AddGlobalOptions(CLI::App& app, Session& session) {
  app.add_option("--daemon", session.daemon_address, "The daemon's HOST:PORT")
      ->envname("NEFFCACHE_DAEMON")
      ->capture_default_str();
  app.add_flag_callback(
      "--json", [&session] { session.console().UseJson(); },
      "Print one JSON document on stdout instead of text");
  const char* config = std::getenv("NEFFCACHE_CONFIG");
  const bool by_environment = config != nullptr && *config != '\0';
  app.set_config("--config", by_environment ? config : "",
                 "A file with these options as NAME=VALUE lines (NEFFCACHE_CONFIG)",
                 by_environment);
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_version_flag("--version", kVersion, "Print the version");
}

std::vector<Command> AddCommands(CLI::App& app, Session& session) {
  std::vector<Command> commands = {AddFingerprint(app, session), AddKey(app, session),
                                   AddLookup(app, session),      AddPrecompile(app, session),
                                   AddFetch(app, session),       AddShow(app, session),
                                   AddExplain(app, session),     AddLog(app, session),
                                   AddRetry(app, session),       AddStats(app, session)};
  for (Command& list : AddList(app, session)) commands.push_back(std::move(list));
  return commands;
}

// One clause out of CLI11's messages.
std::string UsageSentence(const CLI::ParseError& error) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  return absl::StrCat("reading the command line: ", message, " (see neffcache --help)");
}

void Run(const std::vector<Command>& commands, bool flags_given, Console& console) {
  for (const Command& command : commands) {
    if (!command.parsed->parsed()) continue;
    if (flags_given && !command.takes_flags) {
      console.Report(UsageError(
          absl::StrCat(command.parsed->get_name(), " takes no compiler flags behind \"--\"")));
      return;
    }
    command.run();
  }
}

}  // namespace

int RunProgram(std::vector<std::string> arguments, Console& console) {
  Session session(console);
  session.local_search = LocalToolchainSearch::FromEnvironment();
  bool flags_given = false;
  session.flags = TakeFlags(arguments, flags_given);
  // Known before parsing, which may fail.
  if (std::find(arguments.begin(), arguments.end(), "--json") != arguments.end()) {
    console.UseJson();
  }

  CLI::App app("Compiles every graph once per cluster and hands the artifact to every worker.",
               "neffcache");
  app.require_subcommand(1);
  app.fallthrough();
  AddGlobalOptions(app, session);
  const std::vector<Command> commands = AddCommands(app, session);
  app.footer(
      "Exit status: 0 done; 1 what was asked for failed or is absent; 2 usage; 3 daemon\n"
      "unreachable; 4 not permitted.");

  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back.
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    console.PrintHelp(app.help());
    return static_cast<int>(ExitStatus::kDone);
  } catch (const CLI::CallForVersion&) {
    console.PrintHelp(absl::StrCat(kVersion, "\n"));
    return static_cast<int>(ExitStatus::kDone);
  } catch (const CLI::ParseError& error) {
    console.Report(UsageError(UsageSentence(error)));
    return static_cast<int>(console.Finish());
  }
  try {
    Run(commands, flags_given, console);
  } catch (const std::exception& error) {
    // The JSON library and the standard library's threads report trouble this way.
    console.Report(absl::InternalError(absl::StrCat("running the command: ", error.what())));
  }
  return static_cast<int>(console.Finish());
}

}  // namespace neffcache::cli
