#include "graph/background_digests.h"

#include <cstdint>
#include <system_error>

#include "graph/wire.h"

namespace neffcache {
namespace {

// Half a millisecond of hashing; waking a thread is nothing against it.
constexpr size_t kLong = size_t{1} << 20;

constexpr uint32_t kLiteral = 8;         // Of an instruction.
constexpr uint32_t kTupleLiterals = 10;  // Of a literal.
constexpr int kMaxDepth = 64;            // As elsewhere: more makes the module opaque.

void AddStrings(absl::string_view literal, int depth, std::vector<absl::string_view>* strings) {
  WireReader reader(literal);
  for (WireField field; reader.Next(&field);) {
    if (field.type != WireType::kBytes || field.bytes.size() < kLong) continue;
    if (field.number != kTupleLiterals) {
      strings->push_back(field.bytes);
    } else if (depth < kMaxDepth) {
      AddStrings(field.bytes, depth + 1, strings);
    }
  }
}

}  // namespace

BackgroundDigests::BackgroundDigests(std::vector<absl::string_view> strings) {
  if (strings.size() < 2 || std::thread::hardware_concurrency() < 2) return;
  {
    absl::MutexLock lock(&mu_);
    entries_.resize(strings.size());
    for (size_t i = 0; i < strings.size(); ++i) {
      entries_[i].bytes = strings[i];
      places_[{strings[i].data(), strings[i].size()}] = i;
    }
  }
  // The one call that says by an exception that the system has no thread left.
  try {
    thread_ = std::thread([this] { HashBackwards(); });
  } catch (const std::system_error&) {
    places_.clear();
  }
}

BackgroundDigests::~BackgroundDigests() {
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(&mu_);
    stopped_ = true;
  }
  thread_.join();
}

bool BackgroundDigests::Take(size_t entry, absl::string_view* bytes) {
  absl::MutexLock lock(&mu_);
  if (stopped_ || entries_[entry].state != Entry::State::kFree) return false;
  entries_[entry].state = Entry::State::kTaken;
  *bytes = entries_[entry].bytes;
  return true;
}

Digest BackgroundDigests::Hash(size_t entry, absl::string_view bytes) {
  const Digest digest = Sha256Of(bytes);
  absl::MutexLock lock(&mu_);
  entries_[entry].digest = digest;
  entries_[entry].state = Entry::State::kDone;
  return digest;
}

void BackgroundDigests::HashBackwards() {
  absl::string_view bytes;
  for (size_t next = places_.size(); next-- > 0 && Take(next, &bytes);) Hash(next, bytes);
}

Digest BackgroundDigests::DigestOf(absl::string_view bytes) {
  const auto found = places_.find({bytes.data(), bytes.size()});
  if (found == places_.end()) return Sha256Of(bytes);
  const size_t index = found->second;
  absl::string_view taken;
  if (Take(index, &taken)) return Hash(index, taken);
  absl::MutexLock lock(&mu_);
  const Entry& entry = entries_[index];
  const auto done = [&entry]() { return entry.state == Entry::State::kDone; };
  mu_.Await(absl::Condition(&done));
  return entry.digest;
}

std::vector<absl::string_view> LongLiterals(const HloIndex& index) {
  std::vector<absl::string_view> strings;
  for (const InstructionRecord& instruction : index.instructions) {
    if (instruction.bytes.size() < kLong) continue;
    WireReader reader(instruction.bytes);
    for (WireField field; reader.Next(&field);) {
      if (field.number == kLiteral && field.type == WireType::kBytes) {
        AddStrings(field.bytes, 0, &strings);
      }
    }
  }
  return strings;
}

}  // namespace neffcache
