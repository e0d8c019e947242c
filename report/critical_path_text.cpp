// SPDX-License-Identifier: MIT
// Critical paths as text and as parts of documents.
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "report/critical_path.h"
#include "report/parts.h"
#include "report/table.h"

namespace orrery::report {
namespace {

constexpr std::size_t kShown = 20;

std::string share(Duration part, const Result& result) { return percent_of(seconds(part), seconds(result.finish)); }

std::vector<std::size_t> ranks_of_class(const Result& result, RankId rank) {
  std::vector<std::size_t> ranks;
  for (std::size_t other = 0; other < result.class_of_rank.size(); ++other)
    if (result.class_of_rank[other] == result.class_of_rank[index_of(rank)]) ranks.push_back(other);
  return ranks;
}

std::string shares_text(std::string heading, std::span<const PathShare> shares, const Result& result) {
  std::string text = table_of(shares.first(std::min(shares.size(), kShown)),
                              {{std::move(heading), [](const PathShare& one) { return printable(one.what, 60); }},
                               {"time", &PathShare::time},
                               {"share", [&](const PathShare& one) { return share(one.time, result); }, kRight},
                               {"steps", &PathShare::steps}})
                         .text();
  if (shares.size() > kShown) text += fmt::format("  ... {} more\n", shares.size() - kShown);
  return text;
}

std::string ranks_text(const CriticalPath& path, const Result& result) {
  const auto name = [&](const PathOfRank& one) {
    const std::vector<std::size_t> alike = ranks_of_class(result, one.rank);
    return alike.size() == 1 ? fmt::format("{}", index_of(one.rank))
                             : fmt::format("{}, like {}", index_of(one.rank), rank_ranges(alike, 40));
  };
  return table_of(std::span(path.ranks).first(std::min(path.ranks.size(), kShown)),
                  {{"on rank", name},
                   {"time", &PathOfRank::time},
                   {"share", [&](const PathOfRank& one) { return share(one.time, result); }, kRight}})
      .text();
}

std::string links_text(const CriticalPath& path) {
  std::vector<PathOfClass> rows = path.link_classes;
  if (path.latency > Duration::zero()) rows.push_back({"latency", path.latency, {}});
  if (rows.empty()) return {};
  return "\n" + table_of(rows, {{"over links", &PathOfClass::name},
                                {"time", &PathOfClass::moving},
                                {"shared", &PathOfClass::waiting}})
                    .text();
}

nlohmann::ordered_json shares_json(std::span<const PathShare> shares, const Result& result) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const double whole = seconds(result.finish.time_since_epoch());
  for (const PathShare& one : shares)
    list.push_back({{"what", printable(one.what, 200)},
                    {"seconds", seconds(one.time)},
                    {"share", seconds(one.time) / whole},
                    {"steps", one.steps}});
  return list;
}

}  // namespace

std::string critical_path_text(const CriticalPath& path, const Result& result) {
  if (path.parts.empty()) return "critical path: no operation takes time\n";
  return fmt::format("critical path of {}, which nothing but what is on it can shorten\n\n",
                     rounded(result.finish.time_since_epoch())) +
         shares_text("critical path", path.parts, result) + links_text(path) + "\n" + ranks_text(path, result) + "\n" +
         shares_text("operations on it", path.operations, result);
}

void add_critical_path(const CriticalPath& path, const Result& result, nlohmann::ordered_json& document) {
  document["critical_path"] = shares_json(path.parts, result);
  document["critical_operations"] =
      shares_json(std::span(path.operations).first(std::min(path.operations.size(), kShown)), result);
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const PathOfRank& one : path.ranks)
    ranks.push_back({{"rank", index_of(one.rank)},
                     {"class", result.class_of_rank[index_of(one.rank)]},
                     {"seconds", seconds(one.time)}});
  document["critical_ranks"] = std::move(ranks);
  nlohmann::ordered_json links = nlohmann::ordered_json::array();
  for (const PathOfClass& one : path.link_classes)
    links.push_back({{"class", one.name}, {"seconds", seconds(one.moving)}, {"shared_s", seconds(one.waiting)}});
  document["critical_links"] = std::move(links);
  document["critical_latency_s"] = seconds(path.latency);
}

}  // namespace orrery::report
