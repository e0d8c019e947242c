// The table of a sweep for people.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/quantity_text.h"
#include "report/table.h"
#include "study/sweep.h"

namespace orrery {
namespace {

constexpr std::string_view kNothing = "-";
constexpr std::size_t kLongestReason = 72;
constexpr double kLeastShown = 0.01;  // share of the iteration
constexpr std::size_t kMostShown = 3;

// The points of one line, in the order of the compared axis.
using Line = std::vector<std::size_t>;

std::vector<Line> lines_of(const Sweep& sweep) {
  std::vector<Line> lines;
  for (std::size_t point = 0; point < sweep.point_count(); ++point) {
    if (!sweep.compared) {
      lines.push_back({point});
      continue;
    }
    std::size_t step = 1;  // from one value of the compared axis to the next
    for (std::size_t axis = *sweep.compared + 1; axis < sweep.axes.size(); ++axis)
      step *= sweep.axes[axis].choices.size();
    if (sweep.choices_of(point)[*sweep.compared] != 0) continue;
    Line& line = lines.emplace_back();
    for (std::size_t i = 0; i < sweep.axes[*sweep.compared].choices.size(); ++i) line.push_back(point + i * step);
  }
  return lines;
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
std::string fine_percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

double share_of(const Part& part, const SweepFigures& figures) {
  return figures.iteration_time > Duration::zero() ? part.seconds / seconds(figures.iteration_time) : 0;
}

bool is_lost(const Part& part) {
  return part.kind == PartKind::kWait || part.kind == PartKind::kBubble || part.kind == PartKind::kIdle;
}

std::string bound_text(const SweepFigures& figures) {
  if (figures.parts.empty()) return std::string(kNothing);
  return short_name(figures.parts.front()) + " " + percent(share_of(figures.parts.front(), figures));
}

// "tensor 18 %, bubble 6 %": the largest shares that do not compute, from 1 % on. Who has bubbles also waits and is
// done early for their sake: all of it is one share.
std::string exposed_text(const SweepFigures& figures) {
  std::vector<std::pair<double, std::string>> shares;
  double lost = 0;
  bool has_bubble = false;
  for (const Part& part : figures.parts) {
    has_bubble = has_bubble || part.kind == PartKind::kBubble;
    if (part.kind == PartKind::kCommunication) shares.emplace_back(share_of(part, figures), part.family);
    if (is_lost(part)) lost += share_of(part, figures);
  }
  shares.emplace_back(lost, has_bubble ? "bubble" : "idle");
  std::erase_if(shares, [](const auto& share) { return share.first < kLeastShown; });
  std::ranges::stable_sort(shares, std::ranges::greater{}, &std::pair<double, std::string>::first);
  shares.resize(std::min(shares.size(), kMostShown));
  std::string text;
  for (const auto& [share, name] : shares)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, percent(share));
  return text.empty() ? std::string(kNothing) : text;
}

// Bubble, wait and idle over the rest: (p - 1) / m of an ideal pipeline.
std::string bubble_text(const SweepFigures& figures) {
  double lost = 0;
  double used = 0;
  for (const Part& part : figures.parts) (is_lost(part) ? lost : used) += part.seconds;
  return used > 0 ? fine_percent(lost / used) : std::string(kNothing);
}

std::string efficiency_text(const SweepFigures& figures, const SweepFigures* first) {
  if (!figures.training || first == nullptr || !first->training) return std::string(kNothing);
  const double base = first->training->tokens_per_s_per_gpu;
  return base > 0 ? fine_percent(figures.training->tokens_per_s_per_gpu / base) : std::string(kNothing);
}

std::string throughput_text(const TrainingFigures& training) {
  return fmt::format("{:.1f} {}/s", training.tokens_per_s_per_gpu, training.has_tokens ? "tokens" : "samples");
}

// `first`: the figures of the first compared value; null if it did not run.
std::string cell(SweepColumn column, const SweepFigures& figures, const SweepFigures* first) {
  const auto of_training = [&](auto text) {
    return figures.training ? text(*figures.training) : std::string(kNothing);
  };
  switch (column) {
    case SweepColumn::kTime:
      return rounded(figures.iteration_time);
    case SweepColumn::kMfu:
      return of_training([](const TrainingFigures& training) { return fine_percent(training.mfu); });
    case SweepColumn::kThroughput:
      return of_training(throughput_text);
    case SweepColumn::kTflops:
      return of_training([](const TrainingFigures& t) { return fmt::format("{:.1f}", t.model_tflops_per_gpu); });
    case SweepColumn::kMemory:
      return of_training([](const TrainingFigures& training) { return rounded(training.memory.total()); });
    case SweepColumn::kBound:
      return bound_text(figures);
    case SweepColumn::kExposed:
      return exposed_text(figures);
    case SweepColumn::kBubble:
      return bubble_text(figures);
    case SweepColumn::kEfficiency:
      return efficiency_text(figures, first);
  }
  ORRERY_ASSERT(false);
  return {};
}

std::string heading_of(SweepColumn column) {
  switch (column) {
    case SweepColumn::kTime:
      return "time";
    case SweepColumn::kMfu:
      return "MFU";
    case SweepColumn::kThroughput:
      return "per GPU";
    case SweepColumn::kTflops:
      return "TFLOP/s";
    case SweepColumn::kMemory:
      return "memory";
    case SweepColumn::kBound:
      return "bound by";
    case SweepColumn::kExposed:
      return "exposed";
    case SweepColumn::kBubble:
      return "bubble";
    case SweepColumn::kEfficiency:
      return "efficiency";
  }
  ORRERY_ASSERT(false);
  return {};
}

Table::Align align_of(SweepColumn column) {
  const bool words = column == SweepColumn::kBound || column == SweepColumn::kExposed;
  return words ? Table::Align::kLeft : Table::Align::kRight;
}

std::string ratio_text(const SweepFigures& figures, const SweepFigures* first) {
  if (first == nullptr || first->iteration_time <= Duration::zero()) return std::string(kNothing);
  return fmt::format("{:.3f}", seconds(figures.iteration_time) / seconds(first->iteration_time));
}

// Why a point did not run, on one line.
std::string reason_of(const SweepPoint& point) {
  if (point.is_stuck()) return printable(point.stuck.substr(0, point.stuck.find('\n')), kLongestReason);
  return point.refusal.empty() ? std::string() : printable(point.refusal.front().message, kLongestReason);
}

class SweepTable {
 public:
  SweepTable(const Sweep& sweep, std::span<const SweepPoint> points) : sweep_(sweep), points_(points) {
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
      if (sweep.compared != axis) table_.column(sweep.axes[axis].name, Table::Align::kLeft);
    const std::size_t groups = sweep.compared ? sweep.axes[*sweep.compared].choices.size() : 1;
    for (std::size_t group = 0; group < groups; ++group) add_columns(group);
    has_reasons_ = !std::ranges::all_of(points, &SweepPoint::ran);
    if (has_reasons_) table_.column("", Table::Align::kLeft);
    for (const Line& line : lines_of(sweep)) add_line(line);
  }

  std::string text() const { return table_.text(); }

 private:
  void add_columns(std::size_t group) {
    for (std::size_t i = 0; i < sweep_.columns.size(); ++i) {
      const SweepColumn column = sweep_.columns[i];
      const bool named = sweep_.compared && i == 0;
      const std::string whose = named ? sweep_.axes[*sweep_.compared].choices[group].label + ": " : std::string();
      table_.column(whose + heading_of(column), align_of(column));
      if (column == SweepColumn::kTime && group > 0) table_.column("ratio");
    }
  }

  void add_line(const Line& line) {
    std::vector<std::string> cells;
    const std::vector<std::size_t> choices = sweep_.choices_of(line.front());
    for (std::size_t axis = 0; axis < sweep_.axes.size(); ++axis)
      if (sweep_.compared != axis) cells.push_back(sweep_.label(axis, choices));
    const SweepPoint& base = points_[line.front()];
    const SweepFigures* first = base.ran() ? &*base.figures : nullptr;
    for (std::size_t group = 0; group < line.size(); ++group) {
      const SweepPoint& point = points_[line[group]];
      for (const SweepColumn column : sweep_.columns) {
        cells.push_back(point.ran() ? cell(column, *point.figures, first) : std::string(kNothing));
        if (column == SweepColumn::kTime && group > 0)
          cells.push_back(point.ran() ? ratio_text(*point.figures, first) : std::string(kNothing));
      }
    }
    if (has_reasons_) cells.push_back(reasons_of(line));
    table_.row(std::move(cells));
  }

  // "hgx-a800: ..." of each that did not run; without the name where it is the same for all.
  std::string reasons_of(const Line& line) const {
    std::vector<std::string> reasons;
    for (const std::size_t point : line) reasons.push_back(reason_of(points_[point]));
    if (std::ranges::count(reasons, reasons.front()) == std::ssize(reasons)) return reasons.front();
    std::vector<std::string> named;
    for (std::size_t group = 0; group < line.size(); ++group)
      if (!reasons[group].empty())
        named.push_back(fmt::format("{}: {}", sweep_.axes[*sweep_.compared].choices[group].label, reasons[group]));
    return fmt::format("{}", fmt::join(named, "; "));
  }

  const Sweep& sweep_;
  std::span<const SweepPoint> points_;
  Table table_;
  bool has_reasons_ = false;
};

}  // namespace

std::string sweep_text(const Sweep& sweep, std::span<const SweepPoint> points) {
  const std::string title = sweep.title.empty() ? std::string() : sweep.title + "\n\n";
  return title + SweepTable(sweep, points).text();
}

}  // namespace orrery
