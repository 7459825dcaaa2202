#include "server/store/bundle_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "io/file.h"
#include "io/status_macros.h"
#include "io/utf8.h"
#include "server/store/row_codec.h"
#include "server/store/row_keys.h"
#include "transport/limits.h"

namespace neffcache {
namespace {

absl::Status CheckBundle(absl::string_view bundle) {
  RETURN_IF_ERROR(CheckName("the bundle's name", bundle));
  if (IsUtf8(bundle)) return absl::OkStatus();
  return absl::InvalidArgumentError("the bundle's name is not UTF-8");
}

}  // namespace

BundleTable::BundleTable(Database& database, const Entries& entries,
                         std::function<absl::Time()> clock)
    : database_(database), entries_(entries), clock_(std::move(clock)) {}

absl::Status BundleTable::Record(absl::string_view bundle, absl::Span<const Key> keys) {
  RETURN_IF_ERROR(CheckBundle(bundle));
  while (!keys.empty()) {
    const absl::Span<const Key> some = keys.subspan(0, kMaxLookupKeys);
    RETURN_IF_ERROR(RecordSome(bundle, some));
    keys.remove_prefix(some.size());
  }
  return absl::OkStatus();
}

absl::Status BundleTable::RecordSome(absl::string_view bundle, absl::Span<const Key> keys) {
  std::vector<std::string> rows;
  rows.reserve(keys.size());
  for (const Key& key : keys) rows.push_back(BundleRow(bundle, key));
  const std::vector<absl::string_view> views(rows.begin(), rows.end());

  const absl::Time now = clock_();
  std::vector<absl::optional<absl::Time>> first_seen(keys.size());
  RETURN_IF_ERROR(
      database_.MultiGet(Column::kBundles, views, [&](size_t i, absl::string_view value) {
        const absl::StatusOr<BundleTimes> times = DecodeBundleTimes(value);
        if (times.ok()) first_seen[i] = times->first_seen;
      }));
  Batch batch = database_.NewBatch();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!first_seen[i].has_value()) {
      batch.Put(Column::kBundlesOf, BundlesOfRow(keys[i], bundle), "");
    }
    batch.Put(Column::kBundles, rows[i], EncodeBundleTimes({first_seen[i].value_or(now), now}));
  }
  return database_.Write(std::move(batch), Durability::kBuffered);
}

absl::StatusOr<std::vector<BundleKey>> BundleTable::Get(absl::string_view bundle) const {
  RETURN_IF_ERROR(CheckBundle(bundle));
  std::vector<BundleKey> keys;
  absl::Status bad_row;
  RETURN_IF_ERROR(database_.Scan(
      Column::kBundles, BundlePrefix(bundle), [&](absl::string_view row, absl::string_view value) {
        const absl::StatusOr<Key> key = KeyAtEnd(row);
        const absl::StatusOr<BundleTimes> times = DecodeBundleTimes(value);
        bad_row.Update(key.status());
        bad_row.Update(times.status());
        if (!key.ok() || !times.ok()) return true;
        keys.push_back({*key, times->first_seen, times->last_seen});
        return true;
      }));
  RETURN_IF_ERROR(bad_row);
  if (!keys.empty()) return keys;
  return absl::NotFoundError(absl::StrCat("finding bundle ", bundle, ": there is none"));
}

absl::StatusOr<BundleSummary> BundleTable::Summarize(const std::string& name) const {
  BundleSummary summary;
  summary.name = name;
  ASSIGN_OR_RETURN(const std::vector<BundleKey> rows, Get(name));
  summary.keys = rows.size();
  std::vector<Key> keys;
  keys.reserve(rows.size());
  for (const BundleKey& row : rows) {
    keys.push_back(row.key);
    summary.last_seen = std::max(summary.last_seen, row.last_seen);
  }
  ASSIGN_OR_RETURN(const std::vector<absl::optional<Entry>> entries, entries_.Find(keys));
  for (const absl::optional<Entry>& entry : entries) {
    if (!entry.has_value() || entry->ready() == nullptr) continue;
    ++summary.ready;
    summary.bytes += entry->ready()->size;
  }
  return summary;
}

absl::StatusOr<std::vector<BundleSummary>> BundleTable::List() const {
  std::vector<std::string> names;
  RETURN_IF_ERROR(
      database_.Scan(Column::kBundles, "", [&names](absl::string_view row, absl::string_view) {
        const absl::string_view name = row.substr(0, row.find('\0'));
        if (names.empty() || names.back() != name) {
          names.emplace_back(name);
        }
        return true;
      }));
  std::vector<BundleSummary> summaries;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(BundleSummary summary, Summarize(name));
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

absl::StatusOr<std::vector<std::string>> BundleTable::Of(const Key& key) const {
  std::vector<std::string> names;
  RETURN_IF_ERROR(database_.Scan(Column::kBundlesOf, key.bytes(),
                                 [&names](absl::string_view row, absl::string_view) {
                                   names.emplace_back(row.substr(Key::kSize));
                                   return true;
                                 }));
  return names;
}

}  // namespace neffcache
