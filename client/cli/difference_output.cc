#include "client/cli/difference_output.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace neffcache::cli {

Json ToJson(const Difference& difference) {
  Json json = {{"kind", std::string(ToString(difference.kind))}, {"text", difference.text}};
  if (!difference.source.empty()) json["source"] = difference.source;
  return json;
}

void PrintDifferences(const std::vector<Difference>& differences, uint64_t omitted,
                      Console& console) {
  Json list = Json::array();
  for (const Difference& difference : differences) {
    console.Print(difference.text);
    list.push_back(ToJson(difference));
  }
  console.document()["differences"] = std::move(list);
  console.document()["omitted"] = omitted;
  if (omitted > 0) console.Print(absl::StrCat("and ", omitted, " more (--limit)"));
}

void PrintRank(const RankBakedIn& baked_in, Console& console) {
  console.Print(baked_in.Summary());
  for (const BakedConstant& constant : baked_in.constants) {
    console.Print(absl::StrCat("  ", constant.Text()));
  }
  if (baked_in.omitted > 0) console.Print(absl::StrCat("  and ", baked_in.omitted, " more"));
}

Json ToJson(const RankBakedIn& baked_in) {
  Json constants = Json::array();
  for (const BakedConstant& constant : baked_in.constants) {
    Json json = {{"instruction", constant.instruction},
                 {"shape", constant.shape},
                 {"values", constant.values},
                 {"distinct", constant.distinct}};
    if (!constant.source.empty()) json["source"] = constant.source;
    constants.push_back(std::move(json));
  }
  return {{"summary", baked_in.Summary()},
          {"constants", std::move(constants)},
          {"omitted", baked_in.omitted}};
}

}  // namespace neffcache::cli
