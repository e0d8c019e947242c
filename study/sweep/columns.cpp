// SPDX-License-Identifier: MIT
#include "study/sweep/columns.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/number_text.h"
#include "core/error.h"
#include "report/figures.h"
#include "report/parts.h"

namespace orrery::study {
namespace {

constexpr double kLeastShown = 0.01;  // share of the iteration
constexpr std::size_t kMostShown = 3;
constexpr std::string_view kNoText = "-";

double share_of(const report::Part& part, const SweepFigures& figures) {
  return figures.iteration_time > Duration::zero() ? part.seconds / seconds(figures.iteration_time) : 0;
}

bool is_lost(const report::Part& part) {
  return part.kind == report::PartKind::kWait || part.kind == report::PartKind::kBubble ||
         part.kind == report::PartKind::kIdle;
}

// "tensor 18 %, bubble 6 %": the largest shares that do not compute, from 1 % on. Who has bubbles also waits and is
// done early for their sake: all of it is one share.
std::string exposed_text(const SweepFigures& figures) {
  std::vector<std::pair<double, std::string>> shares;
  double lost = 0;
  bool has_bubble = false;
  for (const report::Part& part : figures.parts) {
    has_bubble = has_bubble || part.kind == report::PartKind::kBubble;
    if (part.kind == report::PartKind::kCommunication) shares.emplace_back(share_of(part, figures), part.family);
    if (is_lost(part)) lost += share_of(part, figures);
  }
  shares.emplace_back(lost, has_bubble ? "bubble" : "idle");
  std::erase_if(shares, [](const auto& share) { return share.first < kLeastShown; });
  std::ranges::stable_sort(shares, std::ranges::greater{}, &std::pair<double, std::string>::first);
  shares.resize(std::min(shares.size(), kMostShown));
  std::string text;
  for (const auto& [share, name] : shares)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, percent(share, 0));
  return text.empty() ? std::string(kNoText) : text;
}

// "nvlink 96 %, host 69 %": the most utilised links.
std::string links_text(const SweepFigures& figures) {
  std::string text;
  for (std::size_t i = 0; i < std::min(figures.links.size(), kMostShown); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", figures.links[i].first, percent(figures.links[i].second, 0));
  return text.empty() ? std::string(kNoText) : text;
}

// "a 1.20, b 1.35": how many times as long as alone.
std::string jobs_text(const SweepFigures& figures) {
  std::string text;
  for (const report::JobFigures& job : figures.jobs)
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", printable(job.name, 24), job.slowdown());
  return text.empty() ? std::string(kNoText) : text;
}

// Bubble, wait and idle over the rest: (p - 1) / m of an ideal pipeline.
std::string bubble_text(const SweepFigures& figures) {
  double lost = 0;
  double used = 0;
  for (const report::Part& part : figures.parts) (is_lost(part) ? lost : used) += part.seconds;
  return used > 0 ? percent(lost / used) : std::string(kNoText);
}

std::string efficiency_text(const SweepFigures& figures, const SweepFigures* first) {
  const auto pace = [](const SweepFigures& one) {
    const report::Figure* figure = report::find_column(one.values, "throughput");
    return figure == nullptr ? 0 : report::number_of(one.values, figure->key).value_or(0);
  };
  const double base = first == nullptr ? 0 : pace(*first);
  if (base <= 0 || report::find_column(figures.values, "throughput") == nullptr) return std::string(kNoText);
  return percent(pace(figures) / base);
}

using Align = report::Table::Align;

// A text of one point alone.
auto of_point(std::string (*text)(const SweepFigures&)) {
  return [text](const SweepFigures& figures, const SweepFigures*) { return text(figures); };
}

std::vector<SweepColumn> figure_columns() {
  std::vector<SweepColumn> columns;
  for (const report::Figure* figure : report::keyed_figures()) {
    const std::string name(figure->column_name());
    if (std::ranges::find(columns, name, &SweepColumn::name) != columns.end()) continue;
    columns.push_back(
        {name, std::string(figure->heading), std::string(figure->meaning),
         [name](const SweepFigures& figures, const SweepFigures*) { return report::column_cell(figures.values, name); },
         figure->unit == report::FigureUnit::kText ? Align::kLeft : Align::kRight, figure->is_default, false, true});
  }
  return columns;
}

std::vector<SweepColumn> all_columns() {
  std::vector<SweepColumn> columns = figure_columns();
  const std::vector<SweepColumn> texts = {
      {"bound", "bound by",
       "the largest part of the critical path, and what ranks idle in a pipeline's bubbles, from a tenth of their time "
       "on",
       [](const SweepFigures& figures, const SweepFigures*) { return report::bound_text(figures.values); },
       Align::kLeft, true},
      {"exposed", "exposed",
       "what of the iteration is not computing: the three largest shares from 1 % on; communication by kind; bubble, "
       "wait and idle together",
       of_point(exposed_text), Align::kLeft, true},
      {"bubble", "idle/rest",
       "bubble, wait and idle together over the rest of the iteration: (p - 1) / m of an ideal pipeline",
       of_point(bubble_text), Align::kRight},
      {"efficiency", "efficiency", "throughput of a device over that at the first of the compared values",
       efficiency_text, Align::kRight, false, true},
      {"links", "busiest links",
       "the three most utilised classes of links, by their busiest link: the bottleneck, and how near the others are",
       of_point(links_text), Align::kLeft},
      {"slowdown", "slowdown by other jobs",
       "of several jobs: how many times as long an iteration of each takes as alone", of_point(jobs_text),
       Align::kLeft}};
  columns.insert(columns.end(), texts.begin(), texts.end());
  return columns;
}

}  // namespace

const std::vector<SweepColumn>& sweep_columns() {
  static const std::vector<SweepColumn> kColumns = all_columns();
  return kColumns;
}

const SweepColumn& column_named(std::string_view name) {
  const auto found = std::ranges::find(sweep_columns(), name, &SweepColumn::name);
  ORRERY_ASSERT(found != sweep_columns().end());
  return *found;
}

}  // namespace orrery::study
