// SPDX-License-Identifier: MIT
#include "study/compare/compare.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "report/parts.h"
#include "study/compare/figures.h"

namespace orrery::study {
namespace {

constexpr std::string_view kNothing = "-";
using FlatSettings = std::vector<std::pair<std::string, std::string>>;

void flatten(const ConfigValue& value, const std::string& path, FlatSettings& flat) {
  if (value.kind == ConfigValue::Kind::kScalar) flat.emplace_back(path, value.scalar);
  std::size_t index = 0;
  for (const ConfigValue& item : value.items) flatten(item, fmt::format("{}[{}]", path, index++), flat);
  for (const ConfigEntry& entry : value.entries)
    if (entry.key != "source" && entry.key != "assumed" && entry.key != "fitted")
      flatten(entry.value, path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key), flat);
}

// "layer * attention" of "layer 12 attention": what the layers, micro-batches or buckets of a job have in common.
std::string without_numbers(const std::string& name) {
  std::string text;
  for (std::size_t first = 0; first <= name.size();) {
    const std::size_t end = std::min(name.find(' ', first), name.size());
    const std::string word = name.substr(first, end - first);
    text += (first == 0 ? "" : " ") + (parse_whole_number(word) ? std::string("*") : word);
    first = end + 1;
  }
  return text;
}

std::vector<OperationDifference> largest_first(const std::map<std::string, OperationDifference>& by_name) {
  std::vector<OperationDifference> differences;
  for (const auto& [name, difference] : by_name) differences.push_back(difference);
  std::ranges::stable_sort(differences, std::ranges::greater{},
                           [](const OperationDifference& one) { return std::chrono::abs(one.difference()); });
  return differences;
}

nlohmann::ordered_json run_json(const NamedResult& run, const NamedResult& first_run) {
  const double time = seconds(run.result->finish), first = seconds(first_run.result->finish);
  nlohmann::ordered_json parts = nlohmann::ordered_json::object(), kinds = nlohmann::ordered_json::object();
  for (const report::Part& part : report::mean_parts(*run.result)) {
    parts[part.name] = part.seconds;
    kinds[part.name] = report::short_name(part);
  }
  nlohmann::ordered_json json = {{"name", run.name},
                                 {"time_s", time},
                                 {"ratio", first > 0 ? time / first : 1},
                                 {"parts_s", parts},
                                 {"part_kinds", kinds}};
  json["work"] = work_of(*run.result);
  nlohmann::ordered_json& figures = json["figures"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : report::figure_values(report::figure_source(*run.result)))
    figures[name] = report::to_json(value);
  if (run.result->training) {
    json[run.result->training->has_tokens ? "tokens_per_s_per_gpu" : "samples_per_s_per_gpu"] =
        run.result->training->tokens_per_s_per_gpu;
    for (const MemoryDifference& use : differing_memory(*run.result, *run.result))
      json["memory_bytes"][use.what] = use.first;
    json["fits"] = memory_fit(*run.result) == MemoryFit::kFits;
  }
  if (run.ratio) {
    json["ratio_error"] = to_json(*run.ratio);
    if (first > 0 && time > 0) json["ratio_interval"] = to_json(ratio_interval(time / first, *run.ratio));
  }
  if (const std::string sureness = sureness_sentence(run, first_run); !sureness.empty()) json["sureness"] = sureness;
  if (const std::string unlike = unlike_sentence(run, first_run); !unlike.empty()) json["unlike"] = unlike;
  if (!run.by_hand.empty()) json["by_hand"] = printable(run.by_hand, 120);
  for (const NoDifference& one : run.reasons) json[time == first ? "no_difference" : "held_up"].push_back(to_json(one));
  return json;
}

nlohmann::ordered_json compared_json(const std::vector<NamedResult>& runs) {
  std::vector<const report::Result*> results;
  for (const NamedResult& run : runs) results.push_back(run.result);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ComparedFigure& one : compared_figures(results)) {
    list.push_back({{"name", one.figure->name()},
                    {"heading", report::row_name(*one.figure)},
                    {"unit", report::name_of(one.figure->unit)},
                    {"better", report::name_of(one.figure->better)}});
    for (const auto& number : one.numbers) {
      nlohmann::ordered_json& ratios = list.back()["ratios"];
      const bool has = number && one.numbers.front() && *one.numbers.front() > 0;
      ratios.push_back(has ? nlohmann::ordered_json(*number / *one.numbers.front()) : nlohmann::ordered_json());
    }
  }
  return list;
}

}  // namespace

std::vector<SettingDifference> differing_settings(const ConfigValue& first, const ConfigValue& second) {
  FlatSettings of_first, of_second;
  flatten(first, "", of_first);
  flatten(second, "", of_second);
  const std::map<std::string, std::string> left(of_first.begin(), of_first.end());
  const std::map<std::string, std::string> right(of_second.begin(), of_second.end());
  std::vector<SettingDifference> differences;
  for (const auto& [key, value] : of_first) {
    const auto other = right.find(key);
    const std::string text = other == right.end() ? std::string(kNothing) : other->second;
    if (text != value) differences.push_back({key, value, text});
  }
  for (const auto& [key, value] : of_second)
    if (!left.contains(key)) differences.push_back({key, std::string(kNothing), value});
  return differences;
}

std::vector<OperationDifference> differing_operations(const report::CriticalPath& first,
                                                      const report::CriticalPath& second) {
  std::map<std::string, OperationDifference> by_name;
  const auto take = [&](const report::CriticalPath& path, Duration OperationDifference::*time) {
    Duration rest{};  // what of the path no operation has: time before the first
    for (const report::PathShare& part : path.parts) rest += part.time;
    for (const report::PathShare& one : path.operations) {
      by_name[one.what].*time += one.time;
      rest -= one.time;
    }
    if (rest > Duration::zero()) by_name["before the first operation"].*time += rest;
  };
  take(first, &OperationDifference::first);
  take(second, &OperationDifference::second);
  for (auto& [name, difference] : by_name) difference.what = name;
  return largest_first(by_name);
}

std::vector<OperationDifference> differing_kinds(const report::CriticalPath& first,
                                                 const report::CriticalPath& second) {
  std::map<std::string, OperationDifference> by_kind;
  for (const OperationDifference& one : differing_operations(first, second)) {
    std::string name = without_numbers(one.what);
    OperationDifference& same = by_kind[name];
    same.what = std::move(name);
    same.first += one.first;
    same.second += one.second;
  }
  return largest_first(by_kind);
}

nlohmann::ordered_json comparison_json(const std::vector<NamedResult>& runs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NamedResult& run : runs) list.push_back(run_json(run, runs.front()));
  nlohmann::ordered_json document = {{"schema", "orrery.comparison/1"}, {"runs", std::move(list)}};
  document["figures"] = compared_json(runs);
  for (std::string& sentence : memory_sentences(runs)) document["out_of_memory"].push_back(std::move(sentence));
  if (runs.size() != 2) return document;
  nlohmann::ordered_json& settings = document["settings"] = nlohmann::ordered_json::array();
  for (const SettingDifference& one : differing_settings(runs[0].result->experiment, runs[1].result->experiment))
    settings.push_back({{"key", one.key}, {"first", one.first}, {"second", one.second}});
  if (!runs[0].path || !runs[1].path) return document;
  nlohmann::ordered_json& operations = document["operations"] = nlohmann::ordered_json::array();
  for (const OperationDifference& one : differing_operations(*runs[0].path, *runs[1].path))
    operations.push_back({{"what", printable(one.what, 200)},
                          {"first_s", seconds(one.first)},
                          {"second_s", seconds(one.second)},
                          {"difference_s", seconds(one.difference())}});
  return document;
}

std::optional<double> percent_above(Duration time, Duration other) {
  if (other <= Duration::zero()) return std::nullopt;
  return 100 * (seconds(time) / seconds(other) - 1);
}

std::string above_text(Duration time, Duration other) {
  const auto percent = percent_above(time, other);
  return percent ? fmt::format("{:+.2f} %", *percent) : "-";
}

}  // namespace orrery::study
