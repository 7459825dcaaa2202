#include "client/cli/program.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/nearest_word.h"
#include "client/cli/session.h"
#include "client/wait_time.h"
#include "config/config_sections.h"

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
  app.add_option_function<std::string>(
         "--reconnect",
         [&session](const std::string& text) {
           const absl::optional<absl::Duration> parsed = ParseWaitTime(text);
           if (!parsed.has_value()) {
             throw CLI::ValidationError("--reconnect",
                                        absl::StrCat(text, " is not a duration such as 30s or 0"));
           }
           session.reconnect_timeout = *parsed;
         },
         "How long a daemon that goes away while it is waited for is tried again")
      ->envname("NEFFCACHE_RECONNECT")
      ->type_name("TIME")
      ->default_str(WaitTimeText(session.reconnect_timeout));
  app.add_flag_callback(
      "--json", [&session] { session.console().UseJson(); },
      "Print one JSON document on stdout instead of text");
  AddConfigOption(app);
  ReadOwnConfigSection(app, "neffcache");
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

// What stands where a command should, and is none: CLI11 only says that it was not expected.
std::string UnknownCommand(const CLI::App& app) {
  const CLI::App* parent = &app;
  while (!parent->get_subcommands().empty()) parent = parent->get_subcommands().front();
  std::vector<std::string> known;
  for (const CLI::App* command : parent->get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
  }
  if (known.empty()) return "";
  for (const std::string& word : app.remaining(/*recurse=*/true)) {
    if (absl::StartsWith(word, "-")) continue;
    const std::string nearest = NearestWord(word, known);
    return absl::StrCat("there is no command \"",
                        parent == &app ? "" : absl::StrCat(parent->get_name(), " "), word, "\"",
                        nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?"));
  }
  return "";
}

// One clause out of CLI11's messages.
std::string UsageSentence(const CLI::App& app, const CLI::ParseError& error) {
  if (const std::string unknown = UnknownCommand(app); !unknown.empty()) {
    return absl::StrCat(unknown, " (see neffcache --help)");
  }
  return ParseErrorText(app, error);
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
    console.Report(UsageError(UsageSentence(app, error)));
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
