#include "tests/client/shim/child_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace neffcache::shim {
namespace {

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

ChildProgram::ChildProgram(const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment,
                           const std::string& directory, const std::string& output_prefix)
    : output_prefix_(output_prefix) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (output_prefix + ".out").c_str(),
                                   kFlags, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (output_prefix + ".err").c_str(),
                                   kFlags, 0644);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data()) != 0) std::abort();
  posix_spawn_file_actions_destroy(&actions);
}

void ChildProgram::Signal(int signal) const {
  kill(pid_, signal);
}

ProgramResult ChildProgram::Wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) std::abort();
  ProgramResult result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.out = ReadText(output_prefix_ + ".out");
  result.err = ReadText(output_prefix_ + ".err");
  return result;
}

}  // namespace neffcache::shim
