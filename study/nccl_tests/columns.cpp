// SPDX-License-Identifier: MIT
#include "study/nccl_tests/columns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery::study {
namespace {

// Fields stand to the right, under their names: all end with them, but for those of #wrong, which are up to two off.
constexpr std::size_t kNear = 2;

constexpr std::array<std::pair<std::string_view, NcclField>, 17> kNames = {{
    {"size", NcclField::kSize},
    {"count", NcclField::kCount},
    {"type", NcclField::kType},
    {"redop", NcclField::kReduction},
    {"root", NcclField::kRoot},
    {"time", NcclField::kTime},
    {"cputime", NcclField::kTime},
    {"algbw", NcclField::kAlgbw},
    {"busbw", NcclField::kBusbw},
    {"#wrong", NcclField::kWrong},
    {"error", NcclField::kError},
    {"#bitdiff", NcclField::kOther},
    {"i_min", NcclField::kOther},
    {"i_max", NcclField::kOther},
    {"i_p99", NcclField::kOther},
    {"i_cv%", NcclField::kOther},
    {"wrong", NcclField::kWrong},
}};

constexpr std::array<std::string_view, 6> kUnits = {"(B)", "(elements)", "(float)", "(us)", "(GB/s)", "(%)"};

std::optional<NcclField> field_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, [](const auto& entry) { return entry.first; });
  if (found == kNames.end()) return std::nullopt;
  return found->second;
}

bool is_unit(std::string_view word) { return word.starts_with('(') && word.ends_with(')'); }
bool is_word(std::string_view text) { return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0; }

bool of_side(NcclField field) { return field >= NcclField::kTime; }

// The sides of the columns of time, in order.
std::vector<NcclSide> sides_of(std::size_t times, std::span<const NcclSide> named) {
  if (times == named.size()) return {named.begin(), named.end()};
  return {NcclSide::kOutOfPlace, NcclSide::kInPlace};
}

bool has_column(const NcclColumns& columns, NcclField field) {
  return std::ranges::find(columns.columns, field, &NcclColumn::field) != columns.columns.end();
}

// Words are where words belong, and there is a size, a time, and no time without its bandwidths or the other way
// around: what ends early was cut, also within its last number.
bool plausible(const NcclColumns& columns, const NcclCells& row) {
  using enum NcclField;
  if (row.at(kSize).empty()) return false;
  for (const NcclField number : {kSize, kCount, kRoot})
    if (is_word(row.at(number))) return false;
  for (const NcclField word : {kType, kReduction})
    if (!row.at(word).empty() && !is_word(row.at(word))) return false;
  bool is_timed = false;
  for (const NcclSide side : {NcclSide::kOutOfPlace, NcclSide::kInPlace}) {
    const bool has_time = !row.at(kTime, side).empty();
    for (const NcclField field : {kAlgbw, kBusbw, kWrong, kError})
      if (!has_time && !row.at(field, side).empty()) return false;
    for (const NcclField field : {kAlgbw, kBusbw})
      if (has_time && row.at(field, side).empty() == has_column(columns, field)) return false;
    is_timed = is_timed || has_time;
  }
  return is_timed;
}

NcclCells in_order(const NcclColumns& columns, std::span<const Word> words) {
  NcclCells row;
  for (std::size_t i = 0; i < columns.columns.size(); ++i) row[columns.columns[i]] = words[i].text;
  return row;
}

// Each word under the name it ends nearest to.
std::optional<NcclCells> by_place(const NcclColumns& columns, std::span<const Word> words) {
  NcclCells row;
  std::size_t next = 0;
  for (const Word& word : words) {
    const auto distance = [&word](const NcclColumn& c) {
      return c.end > word.end ? c.end - word.end : word.end - c.end;
    };
    const auto nearest = std::ranges::min_element(columns.columns, {}, distance);
    if (columns.tail && word.end > columns.columns.back().end + kNear) break;
    const auto at = static_cast<std::size_t>(nearest - columns.columns.begin());
    if (distance(*nearest) > kNear || at < next) return std::nullopt;
    row[*nearest] = word.text;
    next = at + 1;
  }
  return row;
}

}  // namespace

bool is_nccl_heading(std::span<const Word> words) {
  if (words.size() < 3 || words[0].text != "size") return false;
  const auto has = [words](std::string_view name) {
    return std::ranges::find(words, name, &Word::text) != words.end();
  };
  return (has("time") || has("cputime")) && (has("algbw") || has("busbw"));
}

NcclColumns nccl_columns(std::span<const Word> words, std::span<const NcclSide> sides) {
  NcclColumns result;
  const auto is_time = [](const Word& word) { return field_named(word.text) == NcclField::kTime; };
  const auto times = static_cast<std::size_t>(std::ranges::count_if(words, is_time));
  if (times > 2) result.problem = fmt::format("{} columns of times; expected out-of-place and in-place", times);
  const std::vector<NcclSide> order = sides_of(times, sides);
  std::size_t side = 0;  // the next one
  std::string_view unknown;
  for (const Word& word : words) {
    if (!result.problem.empty()) return result;
    if (is_unit(word.text)) {
      result.problem = wrong_unit({&word, 1});
      if (!result.columns.empty()) result.columns.back().end = word.end;
      continue;
    }
    const auto field = field_named(word.text);
    if (!field) {
      if (unknown.empty()) unknown = word.text;
      continue;
    }
    if (!unknown.empty()) result.problem = fmt::format("column '{}' is not known", printable(unknown, 40));
    if (field == NcclField::kTime) ++side;
    if (of_side(*field) && side == 0) result.problem = fmt::format("column '{}' before a time", word.text);
    if (!of_side(*field) && side > 0) result.problem = fmt::format("column '{}' after the times", word.text);
    const NcclColumn column{*field, side > 0 && side <= 2 ? order[side - 1] : NcclSide::kOutOfPlace, word.end};
    const auto same = [&column](const NcclColumn& c) { return c.field == column.field && c.side == column.side; };
    if (*field != NcclField::kOther && std::ranges::any_of(result.columns, same))
      result.problem = fmt::format("column '{}' twice", word.text);
    result.columns.push_back(column);
    if (side == 0) ++result.before_sides;
  }
  result.tail = !unknown.empty();
  return result;
}

std::string wrong_unit(std::span<const Word> words) {
  for (const Word& word : words)
    if (is_unit(word.text) && std::ranges::find(kUnits, word.text) == kUnits.end())
      return fmt::format("unit '{}'; expected (B), (us) and (GB/s)", printable(word.text, 40));
  return {};
}

std::optional<NcclCells> nccl_cells(const NcclColumns& columns, std::span<const Word> words) {
  const std::size_t expected = columns.columns.size();
  if (words.size() == expected || (columns.tail && words.size() > expected)) {
    const NcclCells row = in_order(columns, words);
    if (plausible(columns, row)) return row;
  }
  if (words.size() >= expected && !columns.tail) return std::nullopt;
  const auto row = by_place(columns, words);
  if (row && plausible(columns, *row)) return row;
  return std::nullopt;
}

bool ends_early(const NcclColumns& columns, std::span<const Word> words) {
  if (columns.tail || words.size() < columns.columns.size()) return words.size() <= columns.columns.size();
  const NcclColumn& last = columns.columns.back();
  return last.field != NcclField::kWrong && words.back().end < last.end;
}

}  // namespace orrery::study
