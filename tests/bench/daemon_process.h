#pragma once

#include <sys/types.h>

#include <string>

namespace neffcache::bench {

// A neffcached on a fresh data directory and a free loopback port, without workers. Ends with this
// object, and its directory with it. Trouble ends the benchmark.
class DaemonProcess {
 public:
  explicit DaemonProcess(const std::string& program);
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  const std::string& address() const { return address_; }
  // Room for the benchmark's own files, on the daemon's file system.
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  std::string address_;
  pid_t pid_ = 0;
};

}  // namespace neffcache::bench
