// SPDX-License-Identifier: MIT
#include "study/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

std::string time_text(double seconds) { return rounded(Duration(std::llround(seconds * 1e12))); }

std::string ratio_text(double value, double first) {
  return first > 0 ? fmt::format("{:.3f}", value / first) : std::string("-");
}

std::string signed_time(double seconds) { return (seconds < 0 ? "-" : "+") + time_text(std::abs(seconds)); }

// "12 ms slower: exposed communication (tensor) +11 ms, idle +1 ms".
std::string explanation(const NamedResult& run, const std::map<std::string, double>& parts,
                        const std::map<std::string, double>& first, double difference) {
  constexpr std::size_t kShown = 3;
  std::vector<std::pair<double, std::string>> changes;
  for (const auto& [name, time] : parts) changes.emplace_back(time - (first.contains(name) ? first.at(name) : 0), name);
  for (const auto& [name, time] : first)
    if (!parts.contains(name)) changes.emplace_back(-time, name);
  std::erase_if(changes, [](const auto& change) { return std::abs(change.first) < 1e-12; });
  std::ranges::stable_sort(changes, std::ranges::greater{}, [](const auto& change) { return std::abs(change.first); });
  if (changes.empty() || difference == 0)
    return fmt::format("{}: no difference in the iteration time\n", printable(run.name));
  std::string text = fmt::format("{}: {} {}:", printable(run.name), time_text(std::abs(difference)),
                                 difference < 0 ? "faster" : "slower");
  for (std::size_t i = 0; i < std::min(kShown, changes.size()); ++i)
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", changes[i].second, signed_time(changes[i].first));
  return text + "\n";
}

}  // namespace

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
  std::string text = table.text() + "\n";
  for (std::size_t i = 1; i < runs.size(); ++i)
    text += explanation(runs[i], parts[i], parts[0], seconds(runs[i].result->finish) - seconds(runs[0].result->finish));
  return text;
}

nlohmann::ordered_json comparison_json(const std::vector<NamedResult>& runs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const double first = seconds(runs.front().result->finish);
  for (const NamedResult& run : runs) {
    const double time = seconds(run.result->finish);
    nlohmann::ordered_json parts = nlohmann::ordered_json::object();
    for (const report::Part& part : report::mean_parts(*run.result)) parts[part.name] = part.seconds;
    list.push_back({{"name", run.name}, {"time_s", time}, {"ratio", first > 0 ? time / first : 1}, {"parts_s", parts}});
  }
  return {{"schema", "orrery.comparison/1"}, {"runs", std::move(list)}};
}

}  // namespace orrery::study
