#include "server/file_limit.h"

#include <sys/resource.h>

namespace neffcache {
namespace {

constexpr rlim_t kWanted = 65536;

}  // namespace

uint64_t RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_max < kWanted) {
    const rlimit more = {kWanted, kWanted};
    if (setrlimit(RLIMIT_NOFILE, &more) == 0) return kWanted;  // Takes CAP_SYS_RESOURCE.
  }
  const rlimit soft = {limit.rlim_max, limit.rlim_max};
  return setrlimit(RLIMIT_NOFILE, &soft) == 0 ? soft.rlim_cur : limit.rlim_cur;
}

}  // namespace neffcache
