#pragma once

#include <CLI/App.hpp>
#include <string>

namespace neffcache {

// Lets the programs of a node share one config file:
//
//     [neffcached]
//     data-dir = /fsx/neffcache
//     [neffcache]
//     daemon = cache:7433
//     [neffcache-worker]
//     slots = 8
//
// `app` takes the keys of the section called `program`, and those before any section; the sections
// of the other programs are not its business. What is unknown among its own keys is an error, for
// it is more often misspelt than meant for somebody else; all that is unknown is told at once.
// `app` must outlive its parsing in place: it is asked what it knows.
void ReadOwnConfigSection(CLI::App& app, const std::string& program);

// Adds --config, whose default is the file that NEFFCACHE_CONFIG names: then it must exist, as one
// that is given must.
void AddConfigOption(CLI::App& app);

// What to tell the user of an error of `app.parse()`, in one clause: what was read, the file's name
// included, and what is wrong with it.
std::string ParseErrorText(const CLI::App& app, const CLI::ParseError& error);

}  // namespace neffcache
