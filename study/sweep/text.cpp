// The table of a sweep for people.
#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/quantity_text.h"
#include "report/table.h"
#include "study/sweep/sweep.h"

namespace orrery {
namespace {

constexpr std::string_view kNothing = "-";
constexpr std::size_t kWidestNote = 160;
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

// "nvlink 96 %, host 69 %": the most utilised links.
std::string links_text(const SweepFigures& figures) {
  std::string text;
  for (std::size_t i = 0; i < std::min(figures.links.size(), kMostShown); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", figures.links[i].first, percent(figures.links[i].second));
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
    case SweepColumn::kLinks:
      return links_text(figures);
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
      return "mostly";
    case SweepColumn::kExposed:
      return "exposed";
    case SweepColumn::kBubble:
      return "bubble";
    case SweepColumn::kEfficiency:
      return "efficiency";
    case SweepColumn::kLinks:
      return "busiest links";
  }
  ORRERY_ASSERT(false);
  return {};
}

Table::Align align_of(SweepColumn column) {
  const bool words = column == SweepColumn::kBound || column == SweepColumn::kExposed || column == SweepColumn::kLinks;
  return words ? Table::Align::kLeft : Table::Align::kRight;
}

std::string ratio_text(const SweepFigures& figures, const SweepFigures* first) {
  if (first == nullptr || first->iteration_time <= Duration::zero()) return std::string(kNothing);
  return fmt::format("{:.3f}", seconds(figures.iteration_time) / seconds(first->iteration_time));
}

// "8", "none", of an axis over one key also "500 kB": does not say what it is of.
bool is_bare(const SweepChoice& choice) {
  const std::string& label = choice.label;
  const std::size_t end = std::min(label.find_first_not_of("0123456789.,+-"), label.size());
  if (end > 0 && end == label.size()) return true;
  const bool is_value = choice.settings.size() == 1 &&
                        choice.settings.front().value.kind == ConfigValue::Kind::kScalar &&
                        choice.settings.front().value.scalar == label;
  if (end > 0 && is_value && label[end] == ' ') return true;
  return label == "none" || label == "true" || label == "false" || label == "on" || label == "off";
}

// Of each compared value: its label, with the axis where one of them is bare.
std::vector<std::string> compared_names(const Sweep& sweep) {
  if (!sweep.compared) return {};
  const SweepAxis& axis = sweep.axes[*sweep.compared];
  const bool needs_axis = std::ranges::any_of(axis.choices, is_bare);
  std::vector<std::string> names;
  for (const SweepChoice& choice : axis.choices)
    names.push_back(needs_axis ? axis.name + " " + choice.label : choice.label);
  return names;
}

// Between words, where they let it; the first line begins with `mark`, the others below what follows it.
std::string wrapped(const std::string& mark, const std::string& text) {
  std::string lines = mark;
  std::size_t width = mark.size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t length = end - at;
    if (at > 0 && width + 1 + length > kWidestNote) {
      lines += "\n" + std::string(mark.size(), ' ');
      width = mark.size();
    } else if (at > 0) {
      lines += ' ';
      ++width;
    }
    lines += text.substr(at, length);
    width += length;
    at = end + 1;
  }
  return lines + "\n";
}

// Why points did not run: a number in the line of the point, the reason once below the table.
class Notes {
 public:
  // "refused (1)"; empty of a point that ran.
  std::string mark(const SweepPoint& point) {
    if (point.ran()) return {};
    const std::string reason = reason_of(point);
    const auto [number, is_new] = numbers_.try_emplace(reason, reasons_.size() + 1);
    if (is_new) reasons_.push_back(reason);
    return fmt::format("{} ({})", point.is_stuck() ? "stuck" : "refused", number->second);
  }

  std::string text() const {
    std::string text = reasons_.empty() ? "" : "\n";
    for (std::size_t i = 0; i < reasons_.size(); ++i) text += wrapped(fmt::format("  ({}) ", i + 1), reasons_[i]);
    return text;
  }

 private:
  std::vector<std::string> reasons_;
  std::map<std::string, std::size_t> numbers_;
};

class SweepTable {
 public:
  SweepTable(const Sweep& sweep, std::span<const SweepPoint> points)
      : sweep_(sweep), points_(points), compared_(compared_names(sweep)) {
    for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis)
      if (sweep.compared != axis) table_.column(sweep.axes[axis].name, Table::Align::kLeft);
    const std::size_t groups = sweep.compared ? sweep.axes[*sweep.compared].choices.size() : 1;
    for (std::size_t group = 0; group < groups; ++group) add_columns(group);
    has_reasons_ = !std::ranges::all_of(points, &SweepPoint::ran);
    if (has_reasons_) table_.column("", Table::Align::kLeft);
    for (const Line& line : lines_of(sweep)) add_line(line);
  }

  std::string text() const { return table_.text() + notes_.text(); }

 private:
  void add_columns(std::size_t group) {
    for (std::size_t i = 0; i < sweep_.columns.size(); ++i) {
      const SweepColumn column = sweep_.columns[i];
      const std::string whose = sweep_.compared && i == 0 ? compared_[group] + ": " : std::string();
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

  // "hgx-a800: refused (1)" of each that did not run; without the name where it is the same for all.
  std::string reasons_of(const Line& line) {
    std::vector<std::string> reasons;
    for (const std::size_t point : line) reasons.push_back(notes_.mark(points_[point]));
    if (std::ranges::count(reasons, reasons.front()) == std::ssize(reasons)) return reasons.front();
    std::vector<std::string> named;
    for (std::size_t group = 0; group < line.size(); ++group)
      if (!reasons[group].empty()) named.push_back(fmt::format("{}: {}", compared_[group], reasons[group]));
    return fmt::format("{}", fmt::join(named, ", "));
  }

  const Sweep& sweep_;
  std::span<const SweepPoint> points_;
  std::vector<std::string> compared_;
  Table table_;
  Notes notes_;
  bool has_reasons_ = false;
};

}  // namespace

std::string sweep_text(const Sweep& sweep, std::span<const SweepPoint> points) {
  const std::string title = sweep.title.empty() ? std::string() : sweep.title + "\n\n";
  return title + SweepTable(sweep, points).text();
}

}  // namespace orrery
