#pragma once

#include <string>
#include <vector>

namespace neffcache {

// What starting a program runs, as far as files say.
struct LaunchChain {
  // The programs on the way, each started by the one before it, the first being the one that was
  // asked about; then the Python. What makes any of them another program changes one of these files
  // (or the link that leads there).
  std::vector<std::string> files;
  // At the end of the way: a Python script, and the Python that runs it. Both empty when the end
  // cannot be told, because a program on the way is none of those that FollowLaunch() understands.
  std::string script;
  std::string python;
};

// Follows `program` through shell scripts that do nothing but set variables and
//
//     exec /absolute/path "$@"
//
// to a Python script with an absolute "#!" line (or its form for long paths, a shell script that
// runs itself with a Python). A script that decides anything, an `exec` by name, a change of what
// Python imports, and a way of more than 8 programs end in the dark. Reads those files only.
LaunchChain FollowLaunch(const std::string& program);

}  // namespace neffcache
