// SPDX-License-Identifier: MIT
#include "report/passes/schedule_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/plot/axis.h"
#include "report/plot/style.h"
#include "report/plot/svg.h"
#include "report/screen/screen.h"

namespace orrery::report {
namespace {

using workload::PassKind;

// Lengths as parts of the font's size: letters in boxes, gaps, heights of rows and of lines.
constexpr double kSmallLetter = 0.875, kWidestLetter = 0.625;
constexpr double kEdge = 0.375, kRowGap = 0.25, kRowHeight = 1.5, kPairHeight = 2.25, kLineHeight = 1.25;
constexpr double kMostHeight = 62.5, kLeastRow = 0.375;  // of all rows together; of one
constexpr double kLeastOutlined = 0.3125;                // width of a box that has an outline
constexpr double kSquare = 1, kSquareStep = 1.125;       // of the legend
constexpr double kLabelDistance = 4;                     // least from one time of the axis to the next

constexpr std::array<const char*, 3> kKindNames = {"forward", "backward", "weight gradient"};

Colour towards_white(const Colour& colour, double share) {
  const auto mixed = [&](double part) { return part + (255 - part) * share; };
  return {mixed(colour.red), mixed(colour.green), mixed(colour.blue)};
}

// Colours whose lightness is apart also in grey, in all shades of chunks: L* of CIELAB from 66 to 83 forward, from 30
// to 47 backward, from 88 to 95 of weight gradients.
struct KindColour {
  Colour base;
  double palest;  // share of white in that of the last chunk
  const char* letters;
};
constexpr std::array<KindColour, 3> kKindColours = {
    {{{118, 166, 214}, 0.5, "#000"}, {{130, 42, 10}, 0.22, "#fff"}, {{242, 221, 136}, 0.55, "#000"}}};

Colour shade(PassKind kind, std::uint32_t chunk, std::uint32_t chunks) {
  const KindColour& colour = kKindColours[static_cast<std::size_t>(kind)];
  return towards_white(colour.base, chunks < 2 ? 0 : colour.palest * chunk / (chunks - 1));
}

std::string style_of(PassKind kind, std::uint32_t chunk) { return fmt::format("{}{}", letter_of(kind), chunk); }

bool has_kind(const Passes& passes, PassKind kind) {
  return std::ranges::any_of(passes.ranks, [&](const RankPasses& rank) {
    return std::ranges::any_of(rank.spans, [&](const PassSpan& span) { return span.pass.kind == kind; });
  });
}

bool has_pairs(const Passes& passes) {
  return std::ranges::any_of(passes.ranks, [](const RankPasses& rank) {
    return std::ranges::any_of(lanes_of(rank), [](Lane lane) { return lane != Lane::kWhole; });
  });
}

double share_of(const RankPasses& rank, const Passes& passes) {
  return passes.window == Duration::zero() ? 0 : seconds(rank.bubble) / seconds(passes.window);
}

// "1f1b of 4 stages, 8 micro-batches".
std::string shape_text(const Passes& passes) {
  std::string text = fmt::format("{} of {}", passes.schedule, counted(passes.stages, "stage"));
  if (passes.virtual_stages > 1) text += fmt::format(" of {} chunks", passes.virtual_stages);
  return text + fmt::format(", {}", passes.micro_batches == 1 ? "1 micro-batch"
                                                              : fmt::format("{} micro-batches", passes.micro_batches));
}

// "the first of 3 iterations"; "" where all are drawn.
std::string first_text(const Passes& passes) {
  std::uint32_t last = 0;
  for (const RankPasses& rank : passes.ranks)
    for (const PassSpan& span : rank.spans) last = std::max(last, span.iteration);
  if (last + 1 >= passes.iterations) return {};
  return last == 0 ? fmt::format("the first of {} iterations", passes.iterations)
                   : fmt::format("the first {} of {} iterations", last + 1, passes.iterations);
}

class SchedulePicture {
 public:
  SchedulePicture(const Passes& passes, const PictureLook& look)
      : passes_(passes),
        em_(look.font),
        width_(look.width),
        left_((kEdge + kEdge) * em_ + widest_label()),
        right_(width_ - kEdge * em_ - text_width("100.0 %", em_)),
        row_(row_height()),
        captions_(captions()),
        svg_({width_, height()}, "Schedule: " + shape_text(passes), styles(), look.unit) {}

  std::string draw() && {
    svg_.define_hatch("#999");
    svg_.rectangle({0, 0}, {width_, height()}, "paper");
    svg_.text({width_ - kEdge * em_, (kEdge + 1) * em_}, "bubble", "end");
    for (std::size_t row = 0; row < passes_.ranks.size(); ++row) draw_row(row);
    draw_axis();
    draw_legend();
    double y = bottom() + line() * (2.7 + legend_lines());
    for (const std::string& line_of_caption : captions_)
      svg_.text({kEdge * em_, y += line()}, line_of_caption, "caption");
    return svg_.file();
  }

 private:
  std::string label(std::size_t row) const { return fmt::format("rank {}", index_of(passes_.ranks[row].chosen.rank)); }
  double widest_label() const {
    double widest = 0;
    for (std::size_t row = 0; row < passes_.ranks.size(); ++row) widest = std::max(widest, text_width(label(row), em_));
    return widest;
  }

  double row_height() const {
    const double wanted = has_pairs(passes_) ? kPairHeight : kRowHeight;
    const double room = kMostHeight / static_cast<double>(passes_.ranks.size()) - kRowGap;
    return em_ * std::max(kLeastRow, std::min(wanted, room));
  }
  double line() const { return kLineHeight * em_; }
  double gap() const { return kRowGap * em_; }
  double top(std::size_t row) const { return (2 * kEdge + 1) * em_ + (row_ + gap()) * static_cast<double>(row); }
  double bottom() const { return top(passes_.ranks.size()); }
  double height() const {
    return bottom() + line() * (2.7 + legend_lines() + static_cast<double>(captions_.size())) + (kEdge + 0.25) * em_;
  }
  double x(double time) const { return left_ + (right_ - left_) * time / seconds(passes_.window); }
  double x(Time time) const { return x(seconds(time - passes_.start)); }

  std::string styles() const {
    std::string styles = fmt::format(
        "  text {{ font-family: Helvetica, Arial, sans-serif; font-size: {}px; fill: #000 }}\n"
        "  .end {{ text-anchor: end }}\n"
        "  .middle {{ text-anchor: middle }}\n"
        "  .in {{ font-size: {}px; text-anchor: middle }}\n"
        "  .paper {{ fill: #fff }}\n"
        "  .axis {{ stroke: #000; stroke-width: {} }}\n"
        "  .bubble {{ fill: url(#hatch); stroke: #999; stroke-width: {} }}\n"
        "  .outlined {{ stroke: #fff; stroke-width: {} }}\n",
        em_, kSmallLetter * em_, em_ / 16, em_ / 32, em_ / 20);
    for (const PassKind kind : {PassKind::kForward, PassKind::kBackward, PassKind::kWeight}) {
      styles += fmt::format("  .on{} {{ fill: {} }}\n", letter_of(kind),
                            kKindColours[static_cast<std::size_t>(kind)].letters);
      for (std::uint32_t chunk = 0; chunk < passes_.virtual_stages; ++chunk)
        styles += fmt::format("  .{} {{ fill: {} }}\n", style_of(kind, chunk),
                              shade(kind, chunk, passes_.virtual_stages).text());
    }
    return styles;
  }

  void draw_row(std::size_t row) {
    const RankPasses& rank = passes_.ranks[row];
    const double y = top(row), middle = y + row_ / 2 + 0.35 * em_;
    const auto every = static_cast<std::size_t>(std::ceil(em_ / (row_ + gap())));  // labels do not touch
    if (row % every == 0) {
      svg_.text({left_ - kEdge * em_, middle}, label(row), "end");
      svg_.text({width_ - kEdge * em_, middle}, percent(share_of(rank, passes_)), "end");
    }
    svg_.rectangle({x(passes_.start), y}, {x(passes_.end), y + row_}, "bubble");
    const std::vector<Lane> lanes = lanes_of(rank);
    for (std::size_t i = 0; i < rank.spans.size(); ++i) {
      const double upper = y + (lanes[i] == Lane::kLower ? row_ / 2 : 0);
      draw_box(rank, rank.spans[i], upper, upper + (lanes[i] == Lane::kWhole ? row_ : row_ / 2));
    }
  }

  void draw_box(const RankPasses& rank, const PassSpan& span, double upper, double lower) {
    const double from = x(span.start), to = x(span.end);
    const std::string style = style_of(span.pass.kind, span.pass.chunk);
    const auto picoseconds = [](Time time) { return fmt::format("{}", time.time_since_epoch().count()); };
    const Svg::Data data = {{"data-kind", std::string(1, letter_of(span.pass.kind))},
                            {"data-micro", fmt::format("{}", span.micro_batch)},
                            {"data-chunk", fmt::format("{}", span.pass.chunk)},
                            {"data-stage", fmt::format("{}", rank.stage)},
                            {"data-virtual-stage", fmt::format("{}", span.virtual_stage)},
                            {"data-iteration", fmt::format("{}", span.iteration)},
                            {"data-start-ps", picoseconds(span.start)},
                            {"data-end-ps", picoseconds(span.end)}};
    svg_.rectangle({from, upper}, {to, lower}, to - from < kLeastOutlined * em_ ? style : style + " outlined", data,
                   fmt::format("{} on rank {}: {}", name_of(span), index_of(rank.chosen.rank), rounded(span.length())));
    if (has_number(span, lower - upper))
      svg_.text({(from + to) / 2, (upper + lower) / 2 + kSmallLetter * em_ * 0.36}, fmt::format("{}", span.micro_batch),
                fmt::format("in on{}", letter_of(span.pass.kind)));
  }

  bool has_number(const PassSpan& span, double height) const {
    const double small = kSmallLetter * em_;
    return height >= small &&
           x(span.end) - x(span.start) >= text_width(fmt::format("{}", span.micro_batch), small) + em_ / 8;
  }

  void draw_axis() {
    const double y = bottom(), labels = y + 1.25 * em_, length = seconds(passes_.window);
    svg_.line({left_, y}, {right_, y}, "axis");
    const Unit unit = unit_for("s", length);
    const int most = static_cast<int>((right_ - left_) / (kLabelDistance * em_));
    const Axis axis = Axis::linear(0, length, unit, true, std::max(most, 1) + 1);
    for (const Tick& tick : axis.ticks()) {
      if (tick.value > length * (1 + 1e-9)) continue;
      svg_.line({x(tick.value), y}, {x(tick.value), y + em_ / 4}, "axis");
      svg_.text({x(tick.value), labels}, tick.label, "middle");
    }
    svg_.text({(left_ + right_) / 2, labels + line()}, fmt::format("time since the first pass ({})", unit.name),
              "middle");
  }

  struct LegendEntry {
    std::string name;
    std::vector<std::string> styles;  // of squares before it
  };
  double width_of_entry(const LegendEntry& entry) const {
    return em_ * (kSquareStep * static_cast<double>(entry.styles.size()) + 0.875) + text_width(entry.name, em_);
  }
  std::vector<LegendEntry> legend() const {
    std::vector<LegendEntry> entries;
    for (const PassKind kind : {PassKind::kForward, PassKind::kBackward, PassKind::kWeight}) {
      if (!has_kind(passes_, kind)) continue;
      LegendEntry entry{kKindNames[static_cast<std::size_t>(kind)], {}};
      for (std::uint32_t chunk = 0; chunk < passes_.virtual_stages; ++chunk)
        entry.styles.push_back(style_of(kind, chunk));
      entries.push_back(std::move(entry));
    }
    entries.push_back({"bubble", {"bubble"}});
    return entries;
  }
  // Entries one behind the other, on as many lines as they need.
  template <class Place>
  double place_legend(const Place& place) const {
    const double edge = kEdge * em_;
    double lines = 1, at = edge;
    for (const LegendEntry& entry : legend()) {
      const double width = width_of_entry(entry);
      if (at > edge && at + width > width_ - edge) ++lines, at = edge;
      place(entry, at, lines);
      at += width;
    }
    return lines;
  }
  double legend_lines() const {
    return place_legend([](const LegendEntry&, double, double) {});
  }
  void draw_legend() {
    place_legend([&](const LegendEntry& entry, double at, double number) {
      const double y = bottom() + line() * (2.2 + number);
      for (const std::string& style : entry.styles) {
        svg_.rectangle({at, y - 0.875 * em_}, {at + kSquare * em_, y}, style);
        at += kSquareStep * em_;
      }
      svg_.text({at + em_ / 8, y - em_ / 16}, entry.name, "legend");
    });
  }

  // Sentences below the picture, broken at its width.
  std::vector<std::string> captions() const {
    std::string text =
        fmt::format("{}: bubble {}, mean over the stages.", shape_text(passes_), percent(passes_.bubble_share()));
    text.replace(text.find(" %"), 1, "\xC2\xA0");  // no line ends there
    const std::string first = first_text(passes_);
    if (!first.empty()) text += fmt::format(" Drawn is {}.", first);
    std::size_t boxes = 0, numbered = 0;
    for (const RankPasses& rank : passes_.ranks) {
      const std::vector<Lane> lanes = lanes_of(rank);
      for (std::size_t i = 0; i < rank.spans.size(); ++i, ++boxes)
        if (has_number(rank.spans[i], lanes[i] == Lane::kWhole ? row_ : row_ / 2)) ++numbered;
    }
    if (numbered > 0) text += " Numbers are micro-batches";
    if (numbered > 0 && numbered < boxes) text += fmt::format("; {} boxes are too narrow for theirs", boxes - numbered);
    text += numbered > 0 ? "." : " Boxes are too narrow for numbers of micro-batches.";
    if (passes_.virtual_stages > 1) text += " Chunks of a stage from dark to pale.";
    const auto columns = static_cast<std::size_t>((width_ - 2 * kEdge * em_) / (kWidestLetter * em_));
    return wrapped_lines(text, {"", "", columns, Wrapping::Break::kWords});
  }

  const Passes& passes_;
  const double em_;  // size of the font
  const double width_;
  const double left_, right_;  // of the boxes
  const double row_;
  const std::vector<std::string> captions_;
  Svg svg_;
};

// Columns of a line of text: names of ranks, boxes, shares.
constexpr std::size_t kShareColumns = 9, kMostTextRows = 32;

class ScheduleLines {
 public:
  ScheduleLines(const Passes& passes, std::size_t labels)
      : passes_(passes), labels_(labels), columns_(screen_width() - 2 - labels - 1 - kShareColumns) {}

  std::size_t columns() const { return columns_; }

  std::string row(const RankPasses& rank) const {
    const std::vector<Lane> lanes = lanes_of(rank);
    const bool halves = std::ranges::any_of(lanes, [](Lane lane) { return lane != Lane::kWhole; });
    std::string upper(columns_, '.'), lower = upper;
    for (std::size_t i = 0; i < rank.spans.size(); ++i) {
      if (lanes[i] != Lane::kLower) put(rank.spans[i], upper);
      if (lanes[i] == Lane::kLower) put(rank.spans[i], lower);
      if (lanes[i] == Lane::kWhole) put(rank.spans[i], lower);
    }
    const std::string label = fmt::format("rank {}", index_of(rank.chosen.rank));
    std::string text =
        fmt::format("  {:<{}} {} {:>{}}\n", label, labels_, upper, percent(share_of(rank, passes_)), kShareColumns - 1);
    if (halves) text += fmt::format("  {:<{}} {}\n", "", labels_, lower);
    return text;
  }

 private:
  std::size_t column(Time time) const {
    const double share = seconds(time - passes_.start) / seconds(passes_.window);
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(columns_)));
  }

  // "F3--"; of odd chunks "f3--".
  void put(const PassSpan& span, std::string& line) const {
    const std::size_t from = column(span.start), to = column(span.end);
    std::string name = name_of(span);
    if (span.pass.chunk % 2 == 1) name[0] = static_cast<char>(name[0] - 'A' + 'a');
    if (name.size() > to - from) name.resize(1);
    for (std::size_t at = from; at < to; ++at) line[at] = at - from < name.size() ? name[at - from] : '-';
  }

  const Passes& passes_;
  const std::size_t labels_;
  const std::size_t columns_;
};

}  // namespace

std::vector<Lane> lanes_of(const RankPasses& rank) {
  std::vector<Lane> lanes(rank.spans.size(), Lane::kWhole);
  const auto halve = [&](std::size_t i) {
    lanes[i] = rank.spans[i].pass.kind == PassKind::kForward ? Lane::kUpper : Lane::kLower;
  };
  std::size_t latest = 0;  // the span before that ends last
  for (std::size_t i = 1; i < rank.spans.size(); ++i) {
    if (rank.spans[i].start < rank.spans[latest].end) halve(latest), halve(i);
    if (rank.spans[latest].end <= rank.spans[i].end) latest = i;
  }
  return lanes;
}

std::string schedule_svg(const Passes& passes, const PictureLook& look) {
  const Passes drawn = passes_in(passes, 0);
  return SchedulePicture(drawn, look).draw();
}

std::string schedule_text(const Passes& all) {
  const Passes passes = passes_in(all, 0);
  std::size_t most = 0, labels = 0;
  for (const RankPasses& rank : passes.ranks) {
    most = std::max(most, rank.spans.size());
    labels = std::max(labels, fmt::format("rank {}", index_of(rank.chosen.rank)).size());
  }
  const ScheduleLines lines(passes, labels);
  const std::string shape = shape_text(passes);
  if (most > lines.columns() || passes.ranks.size() > kMostTextRows)
    return wrapped(
        fmt::format("schedule of {}: {} of {} passes are too many for a terminal; --schedule-svg FILE draws them",
                    shape, counted(passes.ranks.size(), "row"), most),
        {.first = "", .next = "  ", .at = Wrapping::Break::kClauses});
  std::string text = fmt::format("schedule of {}: {} from left to right; at the right the share of bubbles (.)", shape,
                                 rounded(passes.window));
  if (passes.virtual_stages > 1) text += "; odd chunks in lower case";
  if (const std::string first = first_text(passes); !first.empty()) text += "; " + first;
  text = wrapped(text, {.first = "", .next = "  ", .at = Wrapping::Break::kClauses});
  for (const RankPasses& rank : passes.ranks) text += lines.row(rank);
  return text;
}

}  // namespace orrery::report
