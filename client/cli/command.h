#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

#include "client/cli/session.h"

namespace neffcache::cli {

// One command of the program: its place on the command line, and what runs once that was parsed.
// Results, errors and the exit status go to the session's console.
struct Command {
  CLI::App* parsed = nullptr;
  bool takes_flags = false;  // Compiler flags behind "--".
  std::function<void()> run;
};

// --bundle, whose name is not empty: a script's unset variable is a mistake, not a wish for none.
void AddBundleOption(CLI::App& command, std::string& bundle);

// Each adds one command, or a small family. `session` outlives them.
Command AddFingerprint(CLI::App& app, Session& session);
Command AddKey(CLI::App& app, Session& session);
Command AddLookup(CLI::App& app, Session& session);
Command AddPrecompile(CLI::App& app, Session& session);
Command AddFetch(CLI::App& app, Session& session);
std::vector<Command> AddList(CLI::App& app, Session& session);
Command AddShow(CLI::App& app, Session& session);
Command AddLog(CLI::App& app, Session& session);
Command AddRetry(CLI::App& app, Session& session);
Command AddExplain(CLI::App& app, Session& session);
Command AddStats(CLI::App& app, Session& session);

}  // namespace neffcache::cli
