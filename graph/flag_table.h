#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace neffcache {

// What follows a flag's name on a neuronx-cc command line.
enum class FlagArity {
  kNone,           // A switch.
  kOne,            // One value: "--k v" or "--k=v".
  kOptionalLevel,  // A verbosity level, or nothing: "--verbose", "--verbose 35", "--verbose INFO".
  kWords,          // Every word up to the next flag: "--pipeline compile SaveTemps".
};

// What a flag means for the identity of a compile.
enum class FlagRole {
  kCode,          // Changes the code; the right-most one wins.
  kSwitch,        // The same, on or off.
  kNoEffect,      // Names, logs, verbosity and what the stock wrapper keeps to itself: dropped.
  kExtraOutputs,  // Asks for files beside the artifact.
};

struct FlagSpec {
  absl::string_view name;  // As documented: "--optlevel".
  FlagArity arity;
  FlagRole role;
  absl::string_view group;  // Of a switch: "--enable-x" and "--disable-x" share one.
};

// One command-line token, looked up in the table of documented neuronx-cc flags.
struct FlagMatch {
  const FlagSpec* spec = nullptr;  // Null: not a flag that the table knows.
  absl::optional<absl::string_view>
      value;  // What is attached: "--k=v", "-O1". Points into the token.
};

// Every spelling is recognized here and nowhere else: "--optlevel=1", "-O1", "-O=1", "--lnc".
FlagMatch MatchFlag(absl::string_view token);

// True for a token that begins a flag: "-x" and "--x", but not "-", "-1" or the empty word.
bool IsFlag(absl::string_view token);

// The documented flag that `token` could be a shortened form of ("--optl"), as argument parsers
// allow; empty when there is none or `token` is itself documented.
absl::string_view PossibleAbbreviationOf(absl::string_view token);

// True for what --verbose takes: a number or the name of a level.
bool IsVerbosityLevel(absl::string_view word);

// True for the toolchains whose flags the table describes.
bool IsNeuronToolchain(absl::string_view toolchain_name);

}  // namespace neffcache
