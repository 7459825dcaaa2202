#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace neffcache::shim {

struct ProgramResult {
  int exit_code = -1;  // -1 when a signal ended it.
  int signal = 0;
  std::string out;
  std::string err;
};

// A program started with exactly this environment in this directory. Its output goes to files
// `.out` and `.err` beside that directory under its own number.
class ChildProgram {
 public:
  ChildProgram(const std::vector<std::string>& arguments,
               const std::map<std::string, std::string>& environment, const std::string& directory,
               const std::string& output_prefix);

  void Signal(int signal) const;
  // Once.
  ProgramResult Wait();

 private:
  std::string output_prefix_;
  pid_t pid_ = 0;
};

}  // namespace neffcache::shim
