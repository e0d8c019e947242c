// SPDX-License-Identifier: MIT
#include "report/screen/screen.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orrery::report {
namespace {

constexpr std::size_t kNarrowest = 40;  // screen for which there is a layout
constexpr std::size_t kGap = 2;         // before each column
// Columns below which texts are not narrowed: those of remarks, of names beside figures, of names alone.
constexpr std::size_t kLeastRemark = 24, kLeastName = 24, kLeastAlone = 8;

std::size_t chosen_width = kScreenWidth;

// Place at which the second character begins.
std::size_t next_character(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
  return end;
}

// True for a sign in a word behind which it may be broken; "/" and "-" only between words of four letters and more, not
// in "TFLOP/s", "tokens/s/GPU" and "all-to-all".
bool is_joint(std::string_view text, std::size_t at) {
  constexpr std::string_view kJoints = "-/,_:=", kEnds = "-/,_:= ";
  constexpr std::size_t kLeast = 4;
  if (at == 0 || kJoints.find(text[at]) == std::string_view::npos) return false;
  if (text[at] != '/' && text[at] != '-') return true;
  const std::size_t before = text.find_last_of(kEnds, at - 1),
                    after = std::min(text.find_first_of(kEnds, at + 1), text.size());
  return at - (before == std::string_view::npos ? 0 : before + 1) >= kLeast && after - at - 1 >= kLeast;
}

// The part of `text` that stands on a line of `width` columns, with a blank at its end where it is broken there; all of
// it if it fits. It is broken behind the last blank, otherwise behind the last other sign at which words are, otherwise
// anywhere.
std::string_view first_line(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t end = 0, columns = 0, blank = 0, sign = 0;
  for (; end < text.size(); ++end) {
    if (text[end] == ' ' && end > 0 && !is_before_unit(text, end)) blank = end + 1;
    columns += width_at(text, end);
    if (columns > width) break;
    if (is_joint(text, end)) sign = end + 1;
  }
  return text.substr(0, blank > 0 ? blank : sign > 0 ? sign : std::max(end, next_character(text)));
}

// Lines of a cell. Those that follow the first stand two columns further right than it where it is indented.
std::vector<std::string> broken(std::string_view text, std::size_t width) {
  const std::size_t blanks = std::min(text.find_first_not_of(' '), text.size());
  const std::string indent(blanks > 0 && blanks + kGap < width / 2 ? blanks + kGap : 0, ' ');
  std::vector<std::string> lines;
  do {
    const std::string_view line = first_line(text, width - (lines.empty() ? 0 : indent.size()));
    text.remove_prefix(line.size());
    lines.push_back((lines.empty() ? "" : indent) + std::string(line.substr(0, line.find_last_not_of(' ') + 1)));
  } while (!text.empty());
  return lines;
}

// Columns of the longest word of a heading.
std::size_t longest_word(std::string_view heading) {
  std::size_t longest = 0;
  while (!heading.empty()) {
    const std::size_t end = std::min(heading.find(' '), heading.size());
    std::string_view word = heading.substr(0, end);
    heading.remove_prefix(std::min(end + 1, heading.size()));
    for (std::size_t at = 0, begin = 0; at < word.size(); ++at) {
      if (at + 1 < word.size() && !is_joint(word, at)) continue;
      longest = std::max(longest, width_of(word.substr(begin, at + 1 - begin)));
      begin = at + 1;
    }
  }
  return longest;
}

struct Place {
  const ScreenColumn* column;
  std::size_t cells = 0;  // columns of the widest cell
  std::size_t width = 0;
  std::size_t least = 0;  // width

  bool is_text() const { return column->interest == Interest::kName || column->interest == Interest::kRemark; }
};

std::size_t sum_of(const std::vector<Place>& places, std::size_t Place::*which) {
  return std::accumulate(places.begin(), places.end(), std::size_t{0},
                         [which](std::size_t sum, const Place& place) { return sum + kGap + place.*which; });
}

// Columns that stand in one table, by their widths.
class Columns {
 public:
  Columns(std::vector<Place> places, std::size_t width) : places_(std::move(places)) {
    if (least() > width)
      for (Place& place : places_)
        if (place.is_text()) place.least = std::min(place.least, kLeastAlone);
    if (least() > width)
      for (Place& place : places_) place.least = std::min(place.least, kLeastAlone);
    while (sum(&Place::width) > width && narrow()) {
    }
  }

  std::string text() const {
    std::string text;
    add_line(
        text, [](const Place& place) { return place.column->heading; }, true);
    const std::size_t rows = places_.empty() ? 0 : places_.front().column->cells.size();
    for (std::size_t row = 0; row < rows; ++row)
      add_line(
          text, [row](const Place& place) { return place.column->cells[row]; }, false);
    return text;
  }

 private:
  std::size_t sum(std::size_t Place::*which) const { return sum_of(places_, which); }
  std::size_t least() const { return sum(&Place::least); }

  // Takes one column from a heading that is wider than the cells, or else from the widest remark, or else from the
  // widest other.
  bool narrow() {
    Place* widest = nullptr;
    const auto excess = [](const Place& place) {
      return std::tuple(place.width > place.cells, place.column->interest == Interest::kRemark, place.width);
    };
    for (Place& place : places_)
      if (place.width > place.least && (widest == nullptr || excess(place) > excess(*widest))) widest = &place;
    if (widest != nullptr) --widest->width;
    return widest != nullptr;
  }

  // Adds the lines of one row. Headings stand at the bottom of theirs.
  template <class Cell>
  void add_line(std::string& text, const Cell& cell, bool at_bottom) const {
    std::vector<std::vector<std::string>> lines;
    std::size_t most = 1;
    for (const Place& place : places_) {
      lines.push_back(broken(cell(place), place.width));
      most = std::max(most, lines.back().size());
    }
    for (std::size_t line = 0; line < most; ++line) {
      for (std::size_t i = 0; i < places_.size(); ++i) {
        const std::size_t above = at_bottom ? most - lines[i].size() : 0;
        const bool has = line >= above && line - above < lines[i].size();
        add_cell(text, places_[i], has ? std::string_view(lines[i][line - above]) : std::string_view());
      }
      text.erase(text.find_last_not_of(' ') + 1);
      text += '\n';
    }
  }

  static void add_cell(std::string& text, const Place& place, std::string_view cell) {
    const std::string padding(place.width - std::min(place.width, width_of(cell)), ' ');
    text.append(kGap, ' ');
    if (place.column->is_right) text += padding;
    text += cell;
    if (!place.column->is_right) text += padding;
  }

  std::vector<Place> places_;
};

class Layout {
 public:
  Layout(std::span<const ScreenColumn> columns, std::size_t width, Headings headings) : width_(width) {
    for (const ScreenColumn& column : columns) {
      Place place{&column};
      for (const std::string_view cell : column.cells) place.cells = std::max(place.cells, width_of(cell));
      place.width = std::max(place.cells, width_of(column.heading));
      const std::size_t text = column.interest == Interest::kRemark ? kLeastRemark : kLeastName;
      const std::size_t heading =
          headings == Headings::kOneLine ? width_of(column.heading) : longest_word(column.heading);
      place.least = std::max(heading, place.is_text() ? std::min(place.cells, text) : place.cells);
      places_.push_back(place);
    }
    while (sum_of(places_, &Place::least) > width_ && drop()) {
    }
  }

  std::string text() const {
    std::string text;
    for (const std::vector<Place>& places : tables())
      text += (text.empty() ? "" : "\n") + Columns(places, width_).text();
    return text + left_out_text();
  }

 private:
  // Takes the column away that tells least, with those of its group; returns whether there was one that may go.
  bool drop() {
    const auto rank = [](const Place& place) {
      return place.column->interest == Interest::kRemark ? Interest::kUsual : place.column->interest;
    };
    const auto least = std::ranges::min_element(places_.rbegin(), places_.rend(), {}, rank);
    if (least == places_.rend() || rank(*least) >= Interest::kAnswer) return false;
    const ScreenColumn* const last = least->column;
    const auto leaves = [&](const Place& place) {
      return place.column == last || (last->group != 0 && place.column->group == last->group);
    };
    std::vector<const ScreenColumn*> left;
    for (const Place& place : places_)
      if (leaves(place)) left.push_back(place.column);
    left_out_.insert(left_out_.begin(), left.begin(), left.end());
    std::erase_if(places_, leaves);
    return true;
  }

  // The columns of each table: names, and as many blocks of answers as there is place for, at least one.
  std::vector<std::vector<Place>> tables() const {
    if (sum_of(places_, &Place::least) <= width_) return {places_};
    const auto is_name = [](const Place& place) { return place.column->interest == Interest::kName; };
    std::vector<Place> names;
    std::ranges::copy_if(places_, std::back_inserter(names), is_name);
    std::vector<std::vector<Place>> tables = {names};
    for (auto place = places_.begin(); place != places_.end();) {
      const auto next = std::find_if(place + 1, places_.end(), [&](const Place& one) {
        return one.column->block == 0 || one.column->block != place->column->block;
      });
      std::vector<Place> block;
      std::copy_if(place, next, std::back_inserter(block), std::not_fn(is_name));
      place = next;
      if (block.empty()) continue;
      const bool fits = sum_of(tables.back(), &Place::least) + sum_of(block, &Place::least) <= width_;
      if (!fits && tables.back().size() > names.size()) tables.push_back(names);
      tables.back().insert(tables.back().end(), block.begin(), block.end());
    }
    return tables;
  }

  // "left out at 80 columns: mostly, ratio (2); --format csv has them, and so has a wider terminal".
  std::string left_out_text() const {
    std::vector<std::pair<std::string_view, std::size_t>> names;
    for (const ScreenColumn* column : left_out_) {
      const auto same = std::ranges::find(names, column->heading, &std::pair<std::string_view, std::size_t>::first);
      if (same == names.end())
        names.emplace_back(column->heading, 1);
      else
        ++same->second;
    }
    if (names.empty()) return {};
    std::vector<std::string> texts;
    for (const auto& [name, count] : names)
      texts.push_back(count == 1 ? std::string(name) : fmt::format("{} ({})", name, count));
    return wrapped(fmt::format("left out at {} columns: {}; --format csv has {}, as has a wider terminal", width_,
                               fmt::join(texts, ", "), left_out_.size() == 1 ? "it" : "them"),
                   {"  ", "    ", std::min(width_, text_width())});
  }

  const std::size_t width_;
  std::vector<Place> places_;
  std::vector<const ScreenColumn*> left_out_;  // in the order of the table, but for their interest
};

}  // namespace

void set_screen_width(std::size_t columns) { chosen_width = std::max(columns, kNarrowest); }

std::size_t screen_width() { return chosen_width; }

std::size_t text_width() { return std::min(chosen_width, kScreenWidth); }

std::string sentences_on_screen(std::string_view text) {
  std::string lines;
  bool goes_on = false;  // a command
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const bool is_command = std::exchange(goes_on, line.ends_with(" \\")) || goes_on;
    if (is_command || width_of(line) <= screen_width())
      lines.append(line).append("\n");
    else
      lines += wrapped(line.substr(indent), {std::string(indent, ' '), std::string(indent + kGap, ' '), screen_width(),
                                             Wrapping::Break::kClauses});
  }
  return lines;
}

std::string on_screen(std::span<const ScreenColumn> columns, std::size_t width, Headings headings) {
  return Layout(columns, width, headings).text();
}

}  // namespace orrery::report
