// SPDX-License-Identifier: MIT
// A picture's sheet: its title, the keys to its styles, and its panels beside and below one another.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/assert.h"
#include "report/plot/drawing.h"
#include "report/screen/screen.h"

namespace orrery::report {
namespace {

constexpr double kLeastPanel = 24;  // width, in letters
constexpr double kLine = 1.42;      // from one line of text to the next
constexpr double kBelow = 3.4;      // a panel: its labels and its heading
constexpr std::size_t kHeatSteps = 32;
constexpr double kCellHeight = 2.2;

std::vector<std::string> lines_of_text(const std::string& text, double width, double font) {
  const auto letters = static_cast<std::size_t>(std::max(10.0, width / (0.5 * font)));
  return wrapped_lines(text, {"", "", letters, Wrapping::Break::kWords});
}

class PictureSheet {
 public:
  PictureSheet(const Picture& picture, const PictureLook& look)
      : picture_(picture),
        look_(look),
        em_(look.font),
        margin_(look.is_in_page  ? 0.2 * em_
                : look.has_title ? 1.2 * em_
                                 : 0.3 * em_) {
    lay_out_head();
    lay_out_panels();
  }

  std::string file() {
    const double height = head_ + panels_height_ + margin_;
    Svg svg({look_.width, height}, picture_.title, picture_styles(look_), look_.unit, "plot");
    if (!look_.is_in_page) svg.rectangle({0, 0}, {look_.width, height}, "paper");
    draw_head(svg);
    for (std::size_t i = 0; i < picture_.panels.size(); ++i) draw_panel(svg, i);
    return svg.file();
  }

 private:
  struct KeyItem {
    std::string text;
    const PictureKey::Entry* entry = nullptr;  // null of a title
    Spot at;
  };
  static constexpr double kSample = 2.6;  // width of a sample of a line

  bool is_heat() const { return picture_.kind == PictureKind::kHeat; }
  bool has_bars() const { return picture_.kind == PictureKind::kBars || picture_.kind == PictureKind::kStacks; }
  double inner() const { return look_.width - 2 * margin_; }

  void lay_out_head() {
    double y = margin_;
    if (look_.has_title) {
      title_ = lines_of_text(picture_.title, inner() / 1.5, em_);
      y += 1.7 * em_ * static_cast<double>(title_.size()) + 0.2 * em_;
      for (const std::string& caption : picture_.captions)
        for (std::string& line : lines_of_text(caption, inner(), em_)) captions_.push_back(std::move(line));
      captions_top_ = y;
      y += kLine * em_ * static_cast<double>(captions_.size());
      y += 0.4 * em_;
    }
    for (const PictureKey& key : picture_.keys) y = lay_out_key(key, y);
    if (is_heat()) bar_top_ = y + 0.4 * em_, y += 3.3 * em_;
    head_ = y;
  }

  double lay_out_key(const PictureKey& key, double y) {
    double x = margin_;
    const auto add = [&](const std::string& text, const PictureKey::Entry* entry) {
      const double width = text_width(text, em_) + (entry ? kSample + 0.5 : 0) * em_;
      if (x > margin_ && x + width > look_.width - margin_) x = margin_, y += kLine * em_;
      items_.push_back({text, entry, {x, y + em_}});
      x += width + (entry ? 1.4 : 0.8) * em_;
    };
    if (!key.title.empty()) add(key.title + ":", nullptr);
    for (const PictureKey::Entry& entry : key.entries) add(entry.name, &entry);
    return y + kLine * em_ + 0.25 * em_;
  }

  // True if one vertical axis serves a row of panels.
  bool is_shared() const {
    return !has_bars() && std::ranges::all_of(picture_.panels, [&](const PicturePanel& panel) {
      return panel.y.field == picture_.panels.front().y.field && (!is_heat() || same_rows(panel));
    });
  }
  bool same_rows(const PicturePanel& panel) const {
    return std::ranges::equal(panel.series, picture_.panels.front().series, {}, &PictureSeries::name,
                              &PictureSeries::name);
  }

  void lay_out_panels() {
    const std::size_t count = picture_.panels.size();
    const auto most = static_cast<std::size_t>(std::max(1.0, inner() / (kLeastPanel * em_)));
    const std::size_t rows = (count + most - 1) / most;
    columns_ = has_bars() ? 1 : (count + rows - 1) / rows;
    for (const PicturePanel& panel : picture_.panels) left_ = std::max(left_, left_of(panel));
    shares_up_ = is_shared();
    const double columns = static_cast<double>(columns_), gap = 1.4 * em_;
    const double lefts = shares_up_ ? left_ + gap * (columns - 1) : left_ * columns;
    plot_width_ = (inner() - lefts - right() * columns) / columns;
    double y = head_;
    for (std::size_t i = 0; i < count; ++i) {
      if (i % columns_ == 0 && i > 0) y += row_height(i - columns_);
      tops_.push_back(y + title_height());
    }
    panels_height_ = y + row_height(count - 1 - (count - 1) % columns_) - head_;
  }

  bool has_titles() const {
    return std::ranges::any_of(picture_.panels, [](const PicturePanel& panel) { return !panel.title.empty(); });
  }
  double title_height() const { return (has_titles() ? 1.8 : 0.6) * em_; }
  double right() const { return (has_bars() ? 7 : 0.8) * em_; }  // a bar's value stands behind it
  double row_height(std::size_t first) const {
    double most = 0;
    for (std::size_t i = first; i < std::min(first + columns_, picture_.panels.size()); ++i)
      most = std::max(most, plot_height(picture_.panels[i]));
    return title_height() + most + kBelow * em_;
  }

  double plot_height(const PicturePanel& panel) const {
    if (is_heat())
      return std::clamp(kCellHeight * em_ * static_cast<double>(panel.series.size()), 8 * em_,
                        std::max(8 * em_, 0.8 * plot_width_));
    if (!has_bars()) return std::clamp(0.66 * plot_width_, 11 * em_, 26 * em_);
    const std::size_t bars = picture_.kind == PictureKind::kStacks ? 1 : panel.series.size();
    return em_ * static_cast<double>(panel.x.ticks.size()) * (1.25 * static_cast<double>(bars) + 0.6);
  }

  double left_of(const PicturePanel& panel) const {
    double widest = 0;
    if (has_bars()) {
      for (const Tick& tick : panel.x.ticks) widest = std::max(widest, text_width(tick.label, em_));
      return std::min(widest + 1.2 * em_, 0.4 * inner());
    }
    const Axis up = up_axis(panel);
    for (const Tick& tick : up.ticks()) widest = std::max(widest, text_width(tick.label, em_));
    return widest + 2.3 * em_;
  }

  // Values of all panels that have the same axis.
  Extent extent_up(const PicturePanel& of) const {
    Extent extent;
    for (const PicturePanel& panel : picture_.panels)
      if (panel.y.field == of.y.field)
        for (const PictureSeries& series : panel.series)
          for (const PictureSpot& spot : series.spots)
            for (const double value : {spot.y, spot.low, spot.high})
              if (!of.y.is_logarithmic || value > 0) extent.take(value);
    return extent;
  }

  Axis axis_of_values(const PicturePanel& panel) const {
    Extent extent = extent_up(panel);
    if (picture_.kind == PictureKind::kStacks) extent.take(most_of_stacks(panel));
    if (extent.is_empty()) extent = {1, 1};
    if (panel.y.is_logarithmic) return Axis::logarithmic(extent.least, extent.most, panel.y.unit);
    return Axis::linear(extent.least, extent.most, panel.y.unit, panel.y.from_zero || has_bars());
  }

  static double most_of_stacks(const PicturePanel& panel) {
    std::map<double, double> sums;
    for (const PictureSeries& series : panel.series)
      for (const PictureSpot& spot : series.spots)
        if (std::isfinite(spot.y)) sums[spot.x] += spot.y;
    double most = 0;
    for (const auto& [x, sum] : sums) most = std::max(most, sum);
    return most;
  }

  Axis up_axis(const PicturePanel& panel) const {
    if (!is_heat()) return axis_of_values(panel);
    std::vector<std::string> names;
    for (const PictureSeries& series : panel.series) names.push_back(series.name);
    return Axis::named(names);
  }

  Axis across_axis(const PicturePanel& panel) const {
    if (has_bars()) return axis_of_values(panel);
    if (is_heat()) {
      std::vector<std::string> names;
      for (const Tick& tick : panel.x.ticks) names.push_back(tick.label);
      return Axis::named(names);
    }
    if (!panel.x.ticks.empty()) return Axis::given(panel.x.ticks, panel.x.is_logarithmic);
    Extent extent;
    for (const PictureSeries& series : panel.series)
      for (const PictureSpot& spot : series.spots)
        if (!panel.x.is_logarithmic || spot.x > 0) extent.take(spot.x);
    for (const PictureRule& rule : panel.rules) extent.take(rule.at);
    if (extent.is_empty()) extent = {1, 1};
    if (panel.x.is_logarithmic && panel.x.unit.is_binary)
      return Axis::sizes(Bytes(std::llround(extent.least)), Bytes(std::llround(extent.most)));
    if (panel.x.is_logarithmic) return Axis::logarithmic(extent.least, extent.most, panel.x.unit);
    return Axis::linear(extent.least, extent.most, panel.x.unit, panel.x.from_zero);
  }

  void draw_head(Svg& svg) const {
    double y = margin_ + 0.2 * em_;
    for (const std::string& line : title_) svg.text({margin_, y += 1.45 * em_}, line, "title");
    y = captions_top_;
    for (const std::string& line : captions_) svg.text({margin_, y += kLine * em_}, line, "caption");
    for (const KeyItem& item : items_) {
      if (item.entry != nullptr) draw_sample(svg, *item.entry, item.at);
      svg.text({item.at.x + (item.entry ? (kSample + 0.5) * em_ : 0), item.at.y}, item.text,
               item.entry ? "name" : "heading");
    }
    if (is_heat()) draw_colour_bar(svg);
  }

  void draw_sample(Svg& svg, const PictureKey::Entry& entry, Spot at) const {
    const double y = at.y - 0.36 * em_, middle = at.x + kSample * em_ / 2;
    const std::string stroke =
        entry.colour ? fmt::format("stroke{}", style_number(*entry.colour)) : std::string("stroke-ink");
    if (entry.is_refused) {
      const double size = 0.28 * em_;
      svg.line({middle - size, y - size}, {middle + size, y + size}, "refused");
      return svg.line({middle - size, y + size}, {middle + size, y - size}, "refused");
    }
    if (entry.shape == SeriesShape::kBound) return svg.line({at.x, y}, {at.x + kSample * em_, y}, "bound");
    if (has_bars() || !entry.mark)
      return svg.rectangle({at.x + 0.6 * em_, at.y - 0.85 * em_}, {at.x + (kSample - 0.6) * em_, at.y + 0.1 * em_},
                           fmt::format("bar fill{}", style_number(entry.colour.value_or(0))));
    if (entry.shape == SeriesShape::kLine)
      svg.line(std::array{Spot{at.x, y}, Spot{at.x + kSample * em_, y}},
               fmt::format("curve {} dash{}", stroke, style_number(*entry.mark)));
    draw_mark(svg, {middle, y}, 0.29 * em_, entry.colour, *entry.mark);
  }

  void draw_colour_bar(Svg& svg) const {
    const PicturePanel& panel = picture_.panels.front();
    const Axis axis = axis_of_values(panel);
    const double width = std::min(24 * em_, inner()), top = bar_top_ + 0.3 * em_, bottom = top + 0.8 * em_;
    for (std::size_t i = 0; i < kHeatSteps; ++i) {
      const double from = static_cast<double>(i) / kHeatSteps, to = static_cast<double>(i + 1) / kHeatSteps;
      svg.rectangle({margin_ + width * from, top}, {margin_ + width * to, bottom}, "bar-of-colours",
                    heat_colour((from + to) / 2));
    }
    double free = -1e9;
    for (const Tick& tick : axis.ticks()) {
      const double half = text_width(tick.label, em_) / 2, at = margin_ + width * axis.share(tick.value);
      const double x = std::max(at, margin_ + half);
      if (x - half < free) continue;
      svg.text({x, bottom + 1.1 * em_}, tick.label, "middle");
      free = x + half + 0.5 * em_;
    }
    if (margin_ + width + text_width(heading_of(panel.y), em_) + em_ < look_.width)
      svg.text({margin_ + width + 0.8 * em_, bottom - 0.05 * em_}, heading_of(panel.y), "name");
  }

  void draw_panel(Svg& svg, std::size_t number) const {
    const PicturePanel& panel = picture_.panels[number];
    const std::size_t column = number % columns_;
    const bool names_up = column == 0 || !shares_up_;
    const double gap = 1.4 * em_;
    const double step = plot_width_ + right() + (shares_up_ ? gap : left_);
    const double left = margin_ + left_ + step * static_cast<double>(column), top = tops_[number];
    const Drawing drawing{svg,
                          em_,
                          {left, top},
                          {left + plot_width_, top + plot_height(panel)},
                          across_axis(panel),
                          has_bars() ? Axis::named(std::array{std::string()}) : up_axis(panel),
                          names_up};
    if (!panel.title.empty()) {
      const std::string title =
          picture_.panels.size() > 1
              ? fmt::format("({}) {}", std::string(1, static_cast<char>('a' + number % 26)), panel.title)
              : panel.title;
      svg.text({left, top - 0.6 * em_}, fitting(title, plot_width_, em_), "heading");
    }
    if (has_bars()) return draw_bars(drawing, panel, picture_.kind == PictureKind::kStacks);
    if (names_up)
      svg.upright({left - left_ + 0.9 * em_, (drawing.from.y + drawing.to.y) / 2},
                  is_heat() ? picture_.rows_title : heading_of(panel.y), "middle");
    if (is_heat()) return draw_heat(drawing, panel, axis_of_values(panel));
    draw_curves(drawing, panel);
  }

  const Picture& picture_;
  const PictureLook& look_;
  const double em_, margin_;
  std::vector<std::string> title_, captions_;
  std::vector<KeyItem> items_;
  double captions_top_ = 0, bar_top_ = 0, head_ = 0;
  std::size_t columns_ = 1;
  bool shares_up_ = true;
  double left_ = 0, plot_width_ = 0, panels_height_ = 0;
  std::vector<double> tops_;
};

}  // namespace

std::string picture_svg(const Picture& picture, const PictureLook& look) {
  ORRERY_ASSERT(!picture.panels.empty());
  return PictureSheet(picture, look).file();
}

}  // namespace orrery::report
