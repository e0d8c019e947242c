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
#include "report/table.h"

namespace orrery::study {
namespace {

std::map<std::string, double> parts_by_name(const report::Result& result) {
  std::map<std::string, double> parts;
  for (const report::Part& part : report::mean_parts(result)) parts[part.name] = part.seconds;
  return parts;
}

// A figure of results as people name it: by the key of the configuration that it is, else in words without its unit,
// which the value has: "memory.peak_bytes" is "memory peak".
struct FigureText {
  std::string name;
  std::string (*value)(const nlohmann::ordered_json&);
};

FigureText figure_text(std::string path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kKeys = {
      {{"memory.capacity_bytes", "cluster.node.device.memory.capacity"}}};
  const bool is_bytes = path.ends_with("_bytes");
  const auto value =
      is_bytes
          ? +[](const nlohmann::ordered_json&
                    json) { return json.is_number_integer() ? rounded(Bytes(json.get<std::int64_t>())) : json.dump(); }
          : +[](const nlohmann::ordered_json& json) {
              return json.is_string() ? json.get<std::string>() : json.dump();
            };
  for (const auto& [figure, key] : kKeys)
    if (path == figure) return {std::string(key), value};
  if (is_bytes) path.resize(path.size() - std::string_view("_bytes").size());
  std::ranges::replace(path, '.', ' ');
  std::ranges::replace(path, '_', ' ');
  return {std::move(path), value};
}

// Figures beside the times that differ: what the job needs, reaches and costs.
std::vector<SettingDifference> differing_figures(const report::Result& first, const report::Result& second) {
  constexpr std::array<std::string_view, 12> kOther = {"experiment", "provenance",   "simulation",   "links",
                                                       "culprits",   "warnings",     "breakdown",    "kernels",
                                                       "interval",   "link_classes", "busiest_link", "critical_path"};
  const auto figures_of = [&](const report::Result& result) {
    nlohmann::ordered_json document = report::to_json(result, true);
    for (const std::string_view key : kOther) document.erase(std::string(key));
    return document.flatten();
  };
  const nlohmann::ordered_json left = figures_of(first), right = figures_of(second);
  std::vector<SettingDifference> differences;
  for (const auto& [path, value] : left.items()) {
    const auto other = right.find(path);
    if (other == right.end() || *other == value) continue;
    std::string name = path.substr(1);
    std::ranges::replace(name, '/', '.');
    const FigureText text = figure_text(std::move(name));
    differences.push_back({text.name, text.value(value), text.value(*other)});
  }
  return differences;
}

// Below "no difference": why, and what differs nevertheless.
std::string no_difference_text(const NamedResult& run, const NamedResult& first) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, run.reasons.size()); ++i)
    text += report::wrapped(to_text(run.reasons[i]));
  if (run.reasons.size() > kMost) text += fmt::format("  {} more reasons with --json\n", run.reasons.size() - kMost);
  const std::vector<SettingDifference> figures = differing_figures(*first.result, *run.result);
  std::string others;
  for (std::size_t i = 0; i < std::min(kMost, figures.size()); ++i)
    others += fmt::format("{} {} {} -> {}", i == 0 ? "" : ",", figures[i].key, figures[i].first, figures[i].second);
  if (!others.empty()) text += report::wrapped(fmt::format("but not alike:{}", others));
  return text;
}

// "12 ms slower: exposed communication (tensor) +11 ms, idle +1 ms".
std::string explanation(const NamedResult& run, const std::map<std::string, double>& parts,
                        const std::map<std::string, double>& first, double difference, const NamedResult& first_run) {
  constexpr std::size_t kShown = 3;
  std::vector<std::pair<double, std::string>> changes;
  for (const auto& [name, time] : parts) changes.emplace_back(time - (first.contains(name) ? first.at(name) : 0), name);
  for (const auto& [name, time] : first)
    if (!parts.contains(name)) changes.emplace_back(-time, name);
  std::erase_if(changes, [](const auto& change) { return std::abs(change.first) < 1e-12; });
  std::ranges::stable_sort(changes, std::ranges::greater{}, [](const auto& change) { return std::abs(change.first); });
  if (changes.empty() || difference == 0)
    return fmt::format("{}: no difference in the iteration time\n", printable(run.name)) +
           no_difference_text(run, first_run);
  std::string text = fmt::format("{}: {} {}:", printable(run.name), time_text(std::abs(difference)),
                                 difference < 0 ? "faster" : "slower");
  for (std::size_t i = 0; i < std::min(kShown, changes.size()); ++i)
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", changes[i].second, signed_time(changes[i].first));
  return text + "\n";
}

// --- of two runs

constexpr std::string_view kNothing = "-";
constexpr std::size_t kLines = report::kScreenLines - 1;  // and one for the prompt

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

std::size_t lines_of(const std::string& text) {
  std::size_t lines = 0, first = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; first = end + 1, end = text.find('\n', first))
    lines += std::max<std::size_t>(1, (end - first + report::kScreenWidth - 1) / report::kScreenWidth);
  return lines;
}

// Names tell nothing that the values do not: they are the first to go.
std::string settings_text(const std::vector<NamedResult>& runs) {
  constexpr std::size_t kMost = 5;
  std::vector<SettingDifference> differences =
      differing_settings(runs[0].result->experiment, runs[1].result->experiment);
  if (differences.empty()) return "\nno setting differs: both are the same experiment\n";
  const std::size_t most = std::min(differences.size(), kMost);
  const auto is_value = [](const SettingDifference& one) { return one.key != "name" && !one.key.ends_with(".name"); };
  if (differences.size() > most) std::stable_partition(differences.begin(), differences.end(), is_value);
  report::Table table({"setting", "first", "second"}, {});
  for (const SettingDifference& one : std::span(differences).first(most))
    table.row({printable(one.key, 38), printable(one.first, 16), printable(one.second, 16)});
  std::string text = "\n" + table.text();
  if (differences.size() > most) text += fmt::format("  {} more with --json\n", differences.size() - most);
  return text;
}

// Keys for which no error of ratios is given, each once.
std::string by_hand_text(const std::vector<NamedResult>& runs) {
  std::string text;
  std::set<std::string> told;
  for (const NamedResult& run : runs)
    if (run.result->finish != runs.front().result->finish && !run.by_hand.empty() && told.insert(run.by_hand).second)
      text += report::wrapped(no_ratio_error_text(run.by_hand));
  return text;
}

// Runs whose times differ by less than ratios are off, a line for those of one sort of job.
std::string ties_text(const std::vector<NamedResult>& runs) {
  const double first = seconds(runs.front().result->finish);
  std::map<std::pair<double, std::size_t>, std::vector<std::string>> names;  // by the error and the number of pairs
  for (const NamedResult& run : runs)
    if (const double time = seconds(run.result->finish);
        run.ratio && first > 0 && time > 0 && time != first && is_within(time / first, *run.ratio))
      names[{run.ratio->at_most, run.ratio->pairs}].push_back(run.name);
  std::string text;
  for (const auto& [error, tied] : names) {
    RatioError ratio;
    ratio.at_most = error.first, ratio.pairs = error.second;
    text += report::wrapped(fmt::format("{}: the difference is no more than predicted ratios of times are off: {}",
                                        fmt::join(tied, ", "), ratio_errors_text(ratio)));
  }
  return text + by_hand_text(runs);
}

// Tokens of an iteration, of all ranks; 0 of a job without any.
double tokens_of(const report::Result& result) {
  return result.training ? result.training->tokens_per_s_per_gpu * static_cast<double>(result.class_of_rank.size()) *
                               seconds(report::iteration_time(result))
                         : 0;
}

// A row for the pace of jobs whose iterations are of other numbers of tokens, or samples, so that times tell less.
void add_pace(const std::vector<NamedResult>& runs, report::Table& table) {
  constexpr double kSame = 1e-6;
  const double first = tokens_of(*runs.front().result);
  const auto is_alike = [&](const NamedResult& run) {
    return std::abs(tokens_of(*run.result) - first) <= kSame * first;
  };
  const auto is_trained = [](const NamedResult& run) { return run.result->training.has_value(); };
  if (!std::ranges::all_of(runs, is_trained) || std::ranges::all_of(runs, is_alike)) return;
  const bool has_tokens = runs.front().result->training->has_tokens;
  std::vector<std::string> cells = {fmt::format("{} a second and GPU", has_tokens ? "tokens" : "samples")};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double pace = runs[i].result->training->tokens_per_s_per_gpu;
    cells.push_back(fmt::format("{:.1f}", pace));
    if (i > 0) cells.push_back(ratio_text(pace, runs.front().result->training->tokens_per_s_per_gpu));
  }
  table.row(std::move(cells));
}

// As many rows as still fit on the screen below `above`.
std::string operations_text(const std::vector<NamedResult>& runs, const std::string& above) {
  if (!runs[0].path || !runs[1].path) return {};
  std::map<std::string, OperationDifference> by_name;
  OperationDifference all{"all", {}, {}}, other{"other operations", {}, {}};
  const auto add = [](OperationDifference& to, const OperationDifference& one) {
    to.first += one.first;
    to.second += one.second;
  };
  for (const OperationDifference& one : differing_operations(*runs[0].path, *runs[1].path)) {
    std::string name = without_numbers(one.what);
    OperationDifference& same = by_name[name];
    same.what = std::move(name);
    add(same, one);
    add(all, one);
  }
  constexpr std::size_t kAround = 4, kLeast = 3;  // lines of the heading and the sums; operations in any case
  const std::size_t lines = lines_of(above) + kAround;
  const std::size_t most = std::max(kLeast, kLines - std::min(kLines, lines));
  std::vector<OperationDifference> shown = largest_first(by_name);
  const auto differing = static_cast<std::size_t>(std::ranges::count_if(
      shown, [](const OperationDifference& one) { return one.difference() != Duration::zero(); }));
  if (differing == 0) return {};
  const std::size_t kept = std::min(most, differing);
  for (std::size_t i = kept; i < shown.size(); ++i) add(other, shown[i]);
  if (shown.size() > kept) {
    shown.resize(kept);
    shown.push_back(other);
  }
  shown.push_back(all);
  report::Table table({"operations on the critical path"}, {"first", "second", "difference"});
  for (const OperationDifference& one : shown)
    table.row(
        {printable(one.what, 40), rounded(one.first), rounded(one.second), signed_time(seconds(one.difference()))});
  return "\n" + table.text();
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

std::string comparison_text(const std::vector<NamedResult>& runs) {
  std::vector<std::map<std::string, double>> parts;
  std::map<std::string, double> totals;
  for (const NamedResult& run : runs) {
    parts.push_back(parts_by_name(*run.result));
    for (const auto& [name, time] : parts.back()) totals[name] += time;
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, total] : totals) order.emplace_back(total, name);
  std::ranges::stable_sort(order, std::ranges::greater{}, &std::pair<double, std::string>::first);

  report::Table table;
  table.column("mean over ranks", report::Table::Align::kLeft);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    table.column(runs[i].name);
    if (i > 0) table.column("ratio");
  }
  const auto add_row = [&](const std::string& heading, const std::function<double(std::size_t)>& value) {
    std::vector<std::string> cells = {heading};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      cells.push_back(time_text(value(i)));
      if (i > 0) cells.push_back(ratio_text(value(i), value(0)));
    }
    table.row(std::move(cells));
  };
  add_row("iteration time", [&](std::size_t i) { return seconds(runs[i].result->finish); });
  for (const auto& [total, name] : order)
    add_row("  " + name,
            [&, &part = name](std::size_t i) { return parts[i].contains(part) ? parts[i].at(part) : 0.0; });
  add_pace(runs, table);
  std::string text = table.text() + "\n";
  for (std::size_t i = 1; i < runs.size(); ++i)
    text += explanation(runs[i], parts[i], parts[0], seconds(runs[i].result->finish) - seconds(runs[0].result->finish),
                        runs[0]);
  text += ties_text(runs);
  if (runs.size() != 2) return text;
  text += settings_text(runs);
  return text + operations_text(runs, text);
}

nlohmann::ordered_json comparison_json(const std::vector<NamedResult>& runs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const double first = seconds(runs.front().result->finish);
  for (const NamedResult& run : runs) {
    const double time = seconds(run.result->finish);
    nlohmann::ordered_json parts = nlohmann::ordered_json::object();
    for (const report::Part& part : report::mean_parts(*run.result)) parts[part.name] = part.seconds;
    list.push_back({{"name", run.name}, {"time_s", time}, {"ratio", first > 0 ? time / first : 1}, {"parts_s", parts}});
    if (run.result->training)
      list.back()[run.result->training->has_tokens ? "tokens_per_s_per_gpu" : "samples_per_s_per_gpu"] =
          run.result->training->tokens_per_s_per_gpu;
    if (run.ratio) list.back()["ratio_error"] = to_json(*run.ratio);
    if (!run.by_hand.empty()) list.back()["by_hand"] = printable(run.by_hand, 120);
    for (const NoDifference& one : run.reasons)
      list.back()["no_difference"].push_back({{"keys", one.keys}, {"reason", one.reason}, {"remedy", one.remedy}});
  }
  nlohmann::ordered_json document = {{"schema", "orrery.comparison/1"}, {"runs", std::move(list)}};
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

report::Document comparison_document() {
  using enum report::KeyType;
  using report::maybe;
  return {
      "orrery.comparison/1",
      "`compare --json`",
      "",
      {{kList,
        "runs",
        "the experiments",
        {{kText, "name", ""},
         {kNumber, "time_s", ""},
         {kNumber, "ratio", "to the first"},
         {kMap, "parts_s", "mean over ranks", {{kNumber, "<PART>", ""}}},
         maybe({kNumber, "tokens_per_s_per_gpu", "of a training job"}),
         maybe({kNumber, "samples_per_s_per_gpu", "the same where its model has no tokens"}),
         maybe({kMap, "ratio_error", "how far off ratios to the first are", ratio_error_keys()}),
         maybe({kText, "by_hand", "key that no published run has so, for which there is no such error"}),
         maybe({kList,
                "no_difference",
                "of one that takes as long as the first",
                {{kTexts, "keys", "that differ"},
                 {kText, "reason", "that nothing comes of them"},
                 {kText, "remedy", "may be empty"}}})}},
       maybe({kList,
              "settings",
              "of two experiments",
              {{kText, "key", ""}, {kText, "first", "`-` where it has no such key"}, {kText, "second", "likewise"}}}),
       maybe({kList,
              "operations",
              "of two experiments, on the critical path, the largest difference first; each layer by itself",
              {{kText, "what", ""},
               {kNumber, "first_s", ""},
               {kNumber, "second_s", ""},
               {kNumber, "difference_s", ""}}})}};
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
