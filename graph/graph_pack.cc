#include "graph/graph_pack.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/encoding.h"
#include "graph/wire.h"

namespace neffcache {
namespace {

// The first byte is a tag of wire type 7, which protobuf does not have.
constexpr absl::string_view kMagic = "\x8fneffcache-pack-1\n";
constexpr size_t kLongestPath = 4096;  // PATH_MAX
constexpr size_t kLongestName = 255;   // NAME_MAX

absl::Status Malformed(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("the graph pack is malformed: ", why));
}

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '~';
}

bool IsPlainName(absl::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), IsNameCharacter);
}

// Names that workers and compilers give to files in the directory of a compile.
bool IsTaken(absl::string_view name) {
  return absl::StartsWithIgnoreCase(name, "graph.") || absl::EqualsIgnoreCase(name, "tmp") ||
         absl::StartsWithIgnoreCase(name, "log-neuron") ||
         absl::StartsWithIgnoreCase(name, "neuronxcc");
}

// What an interpreter or a loader may pick up from the directory that it runs in.
bool IsLoadedAsCode(absl::string_view name) {
  for (absl::string_view suffix : {".py", ".pyc", ".pyd", ".pth", ".so", ".egg"}) {
    if (absl::EndsWithIgnoreCase(name, suffix)) return true;
  }
  return absl::StrContains(absl::AsciiStrToLower(name), ".so.");
}

}  // namespace

bool IsGraphPack(absl::string_view bytes) {
  return absl::StartsWith(bytes, kMagic);
}

absl::string_view KernelFileName(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

absl::string_view KernelFilePlace(absl::string_view path) {
  const size_t name = path.rfind('/');
  if (name == absl::string_view::npos || name == 0) return KernelFileName(path);
  return path.substr(path.rfind('/', name - 1) + 1);
}

absl::Status CheckKernelPath(absl::string_view path) {
  if (path.empty() || path[0] != '/' || path.size() > kLongestPath ||
      absl::StrContains(path, '\0')) {
    return absl::InvalidArgumentError("it is no absolute path");
  }
  const absl::string_view name = KernelFileName(path);
  const std::pair<absl::string_view, absl::string_view> place =
      absl::StrSplit(KernelFilePlace(path), absl::MaxSplits('/', 1));
  if (!IsPlainName(name) || !IsPlainName(place.first) || place.second != name) {
    return absl::InvalidArgumentError("its name is not one to lay out for a compiler");
  }
  // The directory for temporary files is there, and one more file in it does no harm.
  if (IsTaken(name) || (IsTaken(place.first) && place.first != "tmp")) {
    return absl::InvalidArgumentError("compilers use its name themselves");
  }
  if (IsLoadedAsCode(name)) {
    return absl::InvalidArgumentError("a compiler might load a file of its name as code");
  }
  return absl::OkStatus();
}

std::string GraphPackHead(absl::Span<const PackedFile> files) {
  Encoding head;
  head.PutRaw(kMagic);
  head.PutVarint(files.size());
  for (const PackedFile& file : files) {
    head.PutBlob(file.path);
    head.PutVarint(file.bytes.size());
  }
  return std::string(head.view());
}

absl::StatusOr<GraphPack> ReadGraphPack(absl::string_view bytes) {
  if (!IsGraphPack(bytes)) return Malformed("it does not begin as one");
  const char* next = bytes.data() + kMagic.size();
  const char* const end = bytes.data() + bytes.size();
  uint64_t count;
  if (!ReadVarint(&next, end, &count)) return Malformed("it is cut short");
  if (count == 0 || count > kMaxKernelFiles) {
    return Malformed(
        absl::StrCat("it has ", count, " kernel files, the limit is ", kMaxKernelFiles));
  }
  GraphPack pack;
  std::vector<uint64_t> sizes;
  absl::flat_hash_set<absl::string_view> paths;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t length, size;
    if (!ReadVarint(&next, end, &length) || length > static_cast<uint64_t>(end - next)) {
      return Malformed("it is cut short");
    }
    const absl::string_view path(next, length);
    next += length;
    if (!ReadVarint(&next, end, &size)) return Malformed("it is cut short");
    if (size > kMaxKernelFileBytes) return Malformed("a kernel file is too large");
    if (const absl::Status checked = CheckKernelPath(path); !checked.ok()) {
      return Malformed(absl::StrCat("kernel file ", i, ": ", checked.message()));
    }
    if (!paths.insert(path).second) return Malformed("it has a kernel file twice");
    pack.files.push_back({std::string(path), {}});
    sizes.push_back(size);
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (sizes[i] > static_cast<uint64_t>(end - next)) return Malformed("it is cut short");
    pack.files[i].bytes = absl::string_view(next, sizes[i]);
    next += sizes[i];
  }
  pack.graph = absl::string_view(next, static_cast<size_t>(end - next));
  if (IsGraphPack(pack.graph)) return Malformed("it holds another one");
  return pack;
}

}  // namespace neffcache
