// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/files/json.h"
#include "report/parts.h"
#include "report/table.h"
#include "study/compare/compare.h"
#include "study/compare/figures.h"

namespace orrery::study {
namespace {

constexpr std::size_t kLines = report::kScreenLines - 1;  // and one for the prompt

// A row of a table for two runs, or a column of one for more.
struct Line {
  std::string name;
  std::string short_name;                        // of columns
  std::vector<report::Cell> cells{};             // by run
  std::vector<std::optional<double>> numbers{};  // likewise

  std::string ratio(std::size_t run) const {
    return numbers[run] && numbers.front() ? ratio_text(*numbers[run], *numbers.front()) : std::string("-");
  }
};

// Columns that names may have more than on a screen of the least width, each of so many.
std::size_t more_for_names(std::size_t names) {
  return (report::screen_width() - std::min(report::screen_width(), report::kScreenWidth)) / names;
}

bool is_for_screen() { return report::table_format() == report::TableFormat::kText; }

// Cuts a name that is longer to its beginning and its end: "gpt3-175b-12...-a100-long". Whole where tables are for
// programs.
std::string shortened(const std::string& name, std::size_t most) {
  const std::string text = printable(name, SIZE_MAX);
  if (text.size() <= most || !is_for_screen()) return text;
  constexpr std::string_view kGap = "...";
  const auto begins = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U; };
  std::size_t head = (most - kGap.size()) / 2, tail = text.size() - (most - kGap.size() - head);
  while (head > 0 && !begins(head)) --head;
  while (tail < text.size() && !begins(tail)) ++tail;
  return text.substr(0, head) + std::string(kGap) + text.substr(tail);
}

Results results_of(const std::vector<NamedResult>& runs, std::vector<const report::Result*>& room) {
  for (const NamedResult& run : runs) room.push_back(run.result);
  return room;
}

Line time_line(std::string name, std::string short_name, std::vector<std::optional<double>> seconds) {
  Line line{std::move(name), std::move(short_name), {}, std::move(seconds)};
  for (std::optional<double>& time : line.numbers) line.cells.push_back(report::Cell::time(*(time = time.value_or(0))));
  return line;
}

Line iteration_line(const std::vector<NamedResult>& runs) {
  std::vector<std::optional<double>> times;
  for (const NamedResult& run : runs) times.emplace_back(seconds(run.result->finish));
  return time_line("iteration time", "time", std::move(times));
}

// Parts of the time, those that take most of all runs first. Those that take less than a hundredth of every run are one
// line, unless all are asked for.
std::vector<Line> part_lines(const std::vector<NamedResult>& runs, Detail detail) {
  constexpr double kLeast = 0.01;
  struct Times {
    std::string short_name;
    std::vector<std::optional<double>> seconds;
    double all = 0;
    bool is_small = true;
  };
  std::map<std::string, Times> parts;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const report::Part& part : report::mean_parts(*runs[i].result)) {
      Times& times = parts[part.name];
      times.short_name = report::short_name(part);
      times.seconds.resize(runs.size());
      times.seconds[i] = part.seconds;
      times.all += part.seconds;
      times.is_small = times.is_small && part.seconds < kLeast * seconds(runs[i].result->finish);
    }
  const auto small = std::ranges::count_if(parts, [](const auto& part) { return part.second.is_small; });
  std::vector<std::pair<double, Line>> order;
  std::vector<std::optional<double>> others(runs.size());
  for (auto& [name, times] : parts) {
    if (detail == Detail::kAll || small < 2 || !times.is_small) {
      order.emplace_back(times.all, time_line(name, times.short_name, std::move(times.seconds)));
      continue;
    }
    for (std::size_t i = 0; i < runs.size(); ++i) others[i] = others[i].value_or(0) + times.seconds[i].value_or(0);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, &std::pair<double, Line>::first);
  std::vector<Line> lines;
  for (auto& [all, line] : order) lines.push_back(std::move(line));
  if (detail != Detail::kAll && small >= 2)
    lines.push_back(time_line(fmt::format("{} smaller parts", small), "smaller", std::move(others)));
  return lines;
}

// Lines of what is compared beside the time. A figure that tells the same as one before is left out, unless all are
// asked for.
std::vector<Line> figure_lines(const std::vector<NamedResult>& runs, Detail detail) {
  std::vector<const report::Result*> room;
  const std::vector<ComparedFigure> figures = compared_figures(results_of(runs, room));
  std::vector<Line> lines;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto is_told = [&](const ComparedFigure& before) { return tells_the_same(before, figures[i]); };
    if (detail != Detail::kAll && std::ranges::any_of(std::span(figures).first(i), is_told)) continue;
    const std::string name = report::row_name(*figures[i].figure);
    Line& line = lines.emplace_back(Line{name, name, {}, figures[i].numbers});
    for (const auto& value : figures[i].values)
      line.cells.push_back(value ? report::bare_cell(*figures[i].figure, *value) : "-");
  }
  return lines;
}

// One column for each run and, from the second on, its ratio to the first.
std::string beside_text(const std::vector<NamedResult>& runs, Detail detail) {
  const std::size_t most_name = 20 + more_for_names(runs.size());
  report::Table table;
  table.column("mean over ranks", report::Table::Align::kLeft);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    table.column(shortened(runs[i].name, most_name));
    if (i > 0) table.column("ratio");
  }
  table.read_across();
  const auto add = [&](const Line& line, std::string_view before) {
    std::vector<report::Cell> cells = {fmt::format("{}{}", before, line.name)};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const report::Cell& cell = line.cells[i];  // numbers are of different things
      cells.push_back(cell.quantity() == report::Cell::Quantity::kNumber ? report::Cell(cell.text()) : cell);
      if (i > 0) cells.push_back(line.ratio(i));
    }
    table.row(std::move(cells));
  };
  add(iteration_line(runs), "");
  for (const Line& part : part_lines(runs, detail)) add(part, "  ");
  for (const Line& figure : figure_lines(runs, detail)) add(figure, "");
  return table.text();
}

std::size_t most_of_name() { return 24 + more_for_names(2); }

// A table with a line for each run from `first` on; columns that are beyond the screen stand in a further one below.
std::string by_run_text(const std::vector<NamedResult>& runs, const std::vector<Line>& columns, std::size_t first,
                        const std::function<report::Cell(const Line&, std::size_t)>& cell) {
  const std::size_t most_name = most_of_name();
  report::Table table({"no.", "run"}, {});
  for (const Line& column : columns)
    table.column(column.short_name, report::Table::Align::kRight, report::Interest::kAnswer);
  for (std::size_t i = first; i < runs.size(); ++i) {
    std::vector<report::Cell> cells = {std::to_string(i + 1), shortened(runs[i].name, most_name)};
    for (const Line& column : columns) cells.push_back(cell(column, i));
    table.row(std::move(cells));
  }
  return table.text();
}

// Names that tables have shortened, in full.
std::string names_text(const std::vector<NamedResult>& runs) {
  std::string text;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (shortened(runs[i].name, most_of_name()) != printable(runs[i].name, SIZE_MAX))
      text += report::wrapped(fmt::format("{} is {}", i + 1, printable(runs[i].name, SIZE_MAX)),
                              {.at = report::Wrapping::Break::kWords});
  return text;
}

// Three runs and more: one line for each, of the time, of the figures and of the parts of the time; the ratios of all
// figures where all is asked for.
std::string lines_text(const std::vector<NamedResult>& runs, Detail detail) {
  const Line time = iteration_line(runs);
  Line ratio{"ratio", "ratio"};
  for (std::size_t i = 0; i < runs.size(); ++i) ratio.cells.push_back(i == 0 ? "-" : time.ratio(i));
  std::vector<Line> figures = figure_lines(runs, detail);
  figures.insert(figures.begin(), {time, std::move(ratio)});
  const auto value = [](const Line& line, std::size_t run) { return line.cells[run]; };
  std::string text = by_run_text(runs, figures, 0, value) + names_text(runs);
  if (detail == Detail::kAll) {
    figures.erase(figures.begin() + 1);
    text += fmt::format("\nratios to 1, {}\n", printable(runs.front().name, SIZE_MAX));
    text += by_run_text(runs, figures, 1, [](const Line& line, std::size_t run) { return line.ratio(run); });
  }
  return text + "\nparts of the time, mean over ranks\n" + by_run_text(runs, part_lines(runs, detail), 0, value);
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
  using Json = nlohmann::ordered_json;
  constexpr auto kBytes = [](const Json& json) {
    return json.is_number_integer() ? rounded(Bytes(json.get<std::int64_t>())) : dump_json(json);
  };
  constexpr auto kText = [](const Json& json) { return json.is_string() ? json.get<std::string>() : dump_json(json); };
  const auto value = is_bytes ? +kBytes : +kText;
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
    const bool are_numbers = value.is_number() && other->is_number();
    if (are_numbers && is_same(value.get<double>(), other->get<double>())) continue;
    std::string name = path.substr(1);
    std::ranges::replace(name, '/', '.');
    const FigureText text = figure_text(std::move(name));
    differences.push_back({text.name, text.value(value), text.value(*other)});
  }
  return differences;
}

std::string reasons_text(const NamedResult& run) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, run.reasons.size()); ++i)
    text += report::wrapped(to_text(run.reasons[i]));
  if (run.reasons.size() > kMost) text += fmt::format("  {} more reasons with --json\n", run.reasons.size() - kMost);
  return text;
}

// Below "no difference": why, and what differs nevertheless.
std::string no_difference_text(const NamedResult& run, const NamedResult& first) {
  constexpr std::size_t kMost = 4;
  std::string text = reasons_text(run);
  const std::vector<SettingDifference> figures = differing_figures(*first.result, *run.result);
  std::string others;
  for (std::size_t i = 0; i < std::min(kMost, figures.size()); ++i)
    others += fmt::format("{} {} {} -> {}", i == 0 ? "" : ",", figures[i].key, figures[i].first, figures[i].second);
  if (!others.empty()) text += report::wrapped(fmt::format("but not alike:{}", others));
  return text;
}

// "12 ms slower: exposed communication (tensor) +11 ms, idle +1 ms".
std::string explanation(const NamedResult& run, const NamedResult& first_run) {
  constexpr std::size_t kShown = 3;
  const double difference = seconds(run.result->finish) - seconds(first_run.result->finish);
  std::map<std::string, double> by_name;
  for (const report::Part& part : report::mean_parts(*run.result)) by_name[part.name] += part.seconds;
  for (const report::Part& part : report::mean_parts(*first_run.result)) by_name[part.name] -= part.seconds;
  std::vector<std::pair<double, std::string>> changes;
  for (const auto& [name, change] : by_name)
    if (std::abs(change) >= 1e-12) changes.emplace_back(change, name);
  std::ranges::stable_sort(changes, std::ranges::greater{}, [](const auto& change) { return std::abs(change.first); });
  if (changes.empty() || takes_as_long(run, first_run)) {
    const std::string but = difference == 0 ? "" : fmt::format(" but for {}", time_text(std::abs(difference)));
    return fmt::format("{}: no difference in the iteration time{}\n", printable(run.name), but) +
           no_difference_text(run, first_run);
  }
  std::string text = fmt::format("{}: {} {}:", printable(run.name), time_text(std::abs(difference)),
                                 difference < 0 ? "faster" : "slower");
  for (std::size_t i = 0; i < std::min(kShown, changes.size()); ++i)
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", changes[i].second, signed_time(changes[i].first));
  return report::wrapped(text, {.first = "", .next = "  "}) + reasons_text(run);
}

// "+3.20 GiB".
std::string signed_size(std::int64_t bytes) {
  return fmt::format("{}{}", bytes < 0 ? '-' : '+', rounded(Bytes(std::abs(bytes))));
}

// "in use +3.20 GiB: activations +3.10 GiB, others +0.10 GiB": the two uses that differ most, or one where there is no
// room on a line for two.
std::string memory_text(const NamedResult& run, const NamedResult& first) {
  constexpr std::size_t kIndent = 2;
  std::vector<MemoryDifference> uses = differing_memory(*first.result, *run.result);
  std::erase_if(uses, [](const MemoryDifference& one) { return one.difference() == 0; });
  if (uses.empty()) return {};
  const auto sum = [](std::span<const MemoryDifference> some) {
    std::int64_t bytes = 0;
    for (const MemoryDifference& one : some) bytes += one.difference();
    return bytes;
  };
  const auto text_of = [&](std::size_t most) {
    std::vector<std::string> shown;
    const std::size_t named = std::min(most, uses.size());
    for (const MemoryDifference& one : std::span(uses).first(named))
      shown.push_back(fmt::format("{} {}", one.what, signed_size(one.difference())));
    if (named < uses.size())
      shown.push_back(fmt::format("others {}", signed_size(sum(std::span(uses).subspan(named)))));
    return fmt::format("in use {}: {}", signed_size(sum(uses)), fmt::join(shown, ", "));
  };
  const std::string text = text_of(2);
  return report::wrapped(text.size() + kIndent <= report::text_width() ? text : text_of(1));
}

std::string memory_table(const std::vector<NamedResult>& runs) {
  std::vector<MemoryDifference> uses = differing_memory(*runs[0].result, *runs[1].result);
  if (uses.empty()) return {};
  MemoryDifference all{"all"};
  for (const MemoryDifference& one : uses) all.first += one.first, all.second += one.second;
  uses.push_back(all);
  report::Table table({"memory of the fullest rank"}, {"first", "second", "difference"});
  table.read_across();
  for (const MemoryDifference& one : uses)
    table.row({one.what, Bytes(one.first), Bytes(one.second), report::Cell::difference(Bytes(one.difference()))});
  return "\n" + table.text();
}

// Sorts of work that differ, iterations of other sizes, memory that may run out, and figures that some of the runs have
// not.
std::string unlike_text(const std::vector<NamedResult>& runs) {
  const auto line = [](const std::string& sentence) { return sentence.empty() ? "" : report::wrapped(sentence); };
  std::string text;
  for (const NamedResult& run : std::span(runs).subspan(1)) text += line(unlike_sentence(run, runs.front()));
  for (const std::string& sentence : memory_sentences(runs)) text += line(sentence);
  std::vector<const report::Result*> room;
  std::map<std::size_t, std::vector<std::string>> missing;
  for (const ComparedFigure& one : compared_figures(results_of(runs, room)))
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!one.values[i]) missing[i].push_back(report::row_name(*one.figure));
  std::map<std::vector<std::string>, std::vector<std::string>> runs_by_missing;
  for (const auto& [run, figures] : missing) runs_by_missing[figures].push_back(printable(runs[run].name));
  for (const auto& [figures, names] : runs_by_missing)
    text += report::wrapped(fmt::format("not compared, for {} {} none: {}", fmt::join(names, ", "),
                                        names.size() == 1 ? "has" : "have", fmt::join(figures, ", ")));
  return text;
}

std::size_t lines_of(const std::string& text) {
  std::size_t lines = 0, first = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; first = end + 1, end = text.find('\n', first))
    lines += std::max<std::size_t>(1, (end - first + report::screen_width() - 1) / report::screen_width());
  return lines;
}

// Names tell nothing that the values do not: they are the first to go; but for that of the software, which stands for
// all that it does.
std::string settings_text(const std::vector<NamedResult>& runs, std::size_t most_rows, std::size_t& left_out) {
  std::vector<SettingDifference> differences =
      differing_settings(runs[0].result->experiment, runs[1].result->experiment);
  if (differences.empty()) return "\nno setting differs: both are the same experiment\n";
  const std::size_t most = std::min(differences.size(), most_rows);
  const auto is_software = [](const SettingDifference& one) { return one.key == "workload.software.name"; };
  const auto is_value = [](const SettingDifference& one) { return one.key != "name" && !one.key.ends_with(".name"); };
  if (differences.size() > most) {
    const auto others = std::stable_partition(differences.begin(), differences.end(), is_software);
    std::stable_partition(others, differences.end(), is_value);
  }
  const std::size_t more = more_for_names(3);
  report::Table table({"setting", "first", "second"}, {});
  for (const SettingDifference& one : std::span(differences).first(most))
    table.row({printable(one.key, 38 + more), printable(one.first, 16 + more), printable(one.second, 16 + more)});
  left_out = differences.size() - most;
  return "\n" + table.text();
}

std::string operations_text(const std::vector<NamedResult>& runs, std::size_t most) {
  if (!runs[0].path || !runs[1].path) return {};
  std::vector<OperationDifference> shown = differing_kinds(*runs[0].path, *runs[1].path);
  OperationDifference all{"all", {}, {}}, other{"other operations", {}, {}};
  const auto add = [](OperationDifference& to, const OperationDifference& one) {
    to.first += one.first;
    to.second += one.second;
  };
  for (const OperationDifference& one : shown) add(all, one);
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
  table.read_across();
  for (const OperationDifference& one : shown)
    table.row({printable(one.what, 40), one.first, one.second, report::Cell::difference(one.difference())});
  return "\n" + table.text();
}

// Option that says what a whole training takes, where nobody asked for that.
std::string_view days_hint(const std::vector<NamedResult>& runs) {
  const auto is_without = [](const NamedResult& run) { return run.result->training && !run.result->training->run; };
  return std::ranges::all_of(runs, is_without) ? "; --tokens 1T: days and energy" : "";
}

// Two runs: what differs in the configurations, and what accounts for the difference, as far as a screen has room.
std::string two_runs_text(const std::vector<NamedResult>& runs, const std::string& above, Detail detail) {
  constexpr std::size_t kLeastSettings = 2, kLeastOperations = 3;
  constexpr std::size_t kAroundSettings = 3;    // a blank line, the heading, and what is said below
  constexpr std::size_t kAroundOperations = 5;  // likewise, with the two sums
  const auto room = [&](const std::string& text, std::size_t around) {
    return kLines - std::min(kLines, lines_of(text) + around);
  };
  std::size_t settings = 0;
  if (detail == Detail::kAll)
    return above + memory_table(runs) + settings_text(runs, SIZE_MAX, settings) + operations_text(runs, SIZE_MAX);
  const std::string shown = settings_text(runs, room(above, kAroundSettings), settings);
  const bool has_settings = settings == 0 || room(above, kAroundSettings) >= kLeastSettings;
  const std::string text = above + (has_settings ? shown : "\n");
  const std::size_t operations = room(text, kAroundOperations);
  const bool has_operations = runs[0].path && runs[1].path && runs[0].result->finish != runs[1].result->finish;
  if (has_operations && operations >= kLeastOperations && settings == 0)
    return text + operations_text(runs, operations);
  std::vector<std::string> more;
  if (settings > 0) more.push_back(counted(settings, "setting") + (has_settings ? " more" : ""));
  if (has_operations) more.emplace_back("operations");
  if (!differing_memory(*runs[0].result, *runs[1].result).empty()) more.emplace_back("memory by use");
  return more.empty() ? text : text + fmt::format("--details: {}{}\n", fmt::join(more, ", "), days_hint(runs));
}

}  // namespace

std::string comparison_text(const std::vector<NamedResult>& runs, Detail detail) {
  if (!is_for_screen()) detail = Detail::kAll;
  const std::string software = software_sentence(runs);
  std::string text = software.empty() ? "" : report::wrapped(software, {.first = "", .next = "  "}) + "\n";
  text += (runs.size() == 2 ? beside_text(runs, detail) : lines_text(runs, detail)) + "\n";
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const std::string sureness = sureness_sentence(runs[i], runs[0]);
    text += explanation(runs[i], runs[0]) + (sureness.empty() ? "" : report::wrapped(sureness)) +
            memory_text(runs[i], runs[0]);
  }
  text += unlike_text(runs);
  return runs.size() == 2 ? two_runs_text(runs, text, detail) : text;
}

}  // namespace orrery::study
