#include "server/store/entries.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "io/status_macros.h"
#include "server/store/entry_codec.h"
#include "server/store/row_keys.h"

namespace neffcache {
namespace {

constexpr size_t kMinPrefix = 8;

absl::Status CheckPrefix(absl::string_view prefix) {
  bool hex = prefix.size() >= kMinPrefix && prefix.size() <= 2 * Key::kSize;
  for (const char c : prefix) hex = hex && absl::ascii_isxdigit(static_cast<unsigned char>(c));
  if (hex) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("finding key \"", absl::CEscape(prefix.substr(0, 80)), "\": a key's prefix has ",
                   kMinPrefix, " to ", 2 * Key::kSize, " hex digits"));
}

}  // namespace

Entries::Entries(const Database& database, ReadyTable& ready, std::function<absl::Time()> clock)
    : database_(database), ready_(ready), clock_(std::move(clock)) {}

bool Entries::IsRemembered(const Entry& entry) const {
  const Failure* failure = entry.failed();
  return failure == nullptr || clock_() < failure->remembered_until;
}

absl::StatusOr<absl::optional<Entry>> Entries::FindStored(const Key& key) const {
  ASSIGN_OR_RETURN(const absl::optional<std::string> row,
                   database_.Get(Column::kEntries, key.bytes()));
  if (!row.has_value()) return absl::optional<Entry>();
  ASSIGN_OR_RETURN(Entry entry, DecodeEntry(*row));
  return absl::make_optional(std::move(entry));
}

absl::StatusOr<absl::optional<Entry>> Entries::Find(const Key& key) const {
  ASSIGN_OR_RETURN(absl::optional<Entry> entry, FindStored(key));
  if (entry.has_value() && !IsRemembered(*entry)) entry.reset();
  return entry;
}

absl::StatusOr<std::vector<absl::optional<Entry>>> Entries::Find(absl::Span<const Key> keys) const {
  std::vector<absl::string_view> rows;
  rows.reserve(keys.size());
  for (const Key& key : keys) rows.push_back(key.bytes());
  std::vector<absl::optional<Entry>> entries(keys.size());
  const ReadyTable::Mark before = ready_.BeforeReading();
  RETURN_IF_ERROR(database_.MultiGet(Column::kEntries, rows, [&](size_t i, absl::string_view row) {
    absl::StatusOr<Entry> entry = DecodeEntry(row);
    if (!entry.ok() || !IsRemembered(*entry)) return;
    if (const Artifact* artifact = entry->ready()) {
      ready_.Remember(before, keys[i], {*artifact, entry->created, entry->compile_time});
    }
    entries[i] = *std::move(entry);
  }));
  return entries;
}

std::vector<absl::optional<ReadyState>> Entries::FindReadyInMemory(
    absl::Span<const Key> keys) const {
  std::vector<absl::optional<ReadyState>> states;
  states.reserve(keys.size());
  for (const Key& key : keys) states.push_back(ready_.Find(key));
  return states;
}

absl::StatusOr<Key> Entries::ResolvePrefix(absl::string_view prefix) const {
  RETURN_IF_ERROR(CheckPrefix(prefix));
  const std::string wanted = absl::AsciiStrToLower(prefix);
  // Rows are bytes: an odd digit is looked for among the rows of the byte before it.
  const std::string whole_bytes = absl::HexStringToBytes(wanted.substr(0, wanted.size() / 2 * 2));
  std::vector<Key> found;
  absl::Status bad_row;
  RETURN_IF_ERROR(database_.Scan(Column::kEntries, whole_bytes,
                                 [&](absl::string_view row, absl::string_view value) {
                                   const absl::StatusOr<Key> key = KeyAtEnd(row);
                                   bad_row.Update(key.status());
                                   if (!key.ok()) return true;
                                   if (!absl::StartsWith(key->Hex(), wanted)) return true;
                                   const absl::StatusOr<Entry> entry = DecodeEntry(value);
                                   if (entry.ok() && IsRemembered(*entry)) found.push_back(*key);
                                   return found.size() < 2;
                                 }));
  RETURN_IF_ERROR(bad_row);
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("finding key ", wanted, ": no entry has it"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("finding key ", wanted, ": several begin so; give more digits"));
}

absl::Status Entries::ForEach(absl::FunctionRef<bool(const Entry&)> visit) const {
  absl::Status bad_row;
  RETURN_IF_ERROR(
      database_.Scan(Column::kEntries, "", [&](absl::string_view, absl::string_view value) {
        const absl::StatusOr<Entry> entry = DecodeEntry(value);
        bad_row.Update(entry.status());
        if (!entry.ok() || !IsRemembered(*entry)) return true;
        return visit(*entry);
      }));
  return bad_row;
}

absl::StatusOr<uint64_t> Entries::CountFailed() const {
  uint64_t count = 0;
  RETURN_IF_ERROR(database_.Scan(Column::kFailures, "",
                                 FailuresFrom(clock_() + absl::Milliseconds(1)),
                                 [&count](absl::string_view, absl::string_view) {
                                   ++count;
                                   return true;
                                 }));
  return count;
}

absl::StatusOr<std::vector<std::string>> Entries::ExpiredFailures(size_t limit) const {
  const std::string first_remembered = FailuresFrom(clock_() + absl::Milliseconds(1));
  std::vector<std::string> rows;
  RETURN_IF_ERROR(
      database_.Scan(Column::kFailures, "", [&](absl::string_view row, absl::string_view) {
        if (row >= first_remembered || rows.size() >= limit) return false;
        rows.emplace_back(row);
        return true;
      }));
  return rows;
}

}  // namespace neffcache
