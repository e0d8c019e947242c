// SPDX-License-Identifier: MIT
#include "study/nccl_tests/reader.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "core/error.h"

namespace orrery::study {
namespace {

// Fields stand to the right, under their names: all end with them, but for those of #wrong, which are up to two off.
constexpr std::size_t kNear = 2;

using enum NcclField;

// Name of a field in the heading of a log, and in CSV; empty if it has none there.
struct FieldName {
  std::string_view heading;
  std::string_view csv;
  NcclField field;
};

constexpr std::array<FieldName, 17> kNames = {{
    {"size", "size_bytes", kSize},
    {"count", "count", kCount},
    {"type", "type", kType},
    {"redop", "redop", kReduction},
    {"root", "root", kRoot},
    {"time", "time_us", kTime},
    {"cputime", {}, kTime},
    {"algbw", "algbw_GBps", kAlgbw},
    {"busbw", "busbw_GBps", kBusbw},
    {"#wrong", "wrong", kWrong},
    {"wrong", {}, kWrong},
    {"error", {}, kError},
    {"#bitdiff", {}, kOther},
    {"i_min", {}, kOther},
    {"i_max", {}, kOther},
    {"i_p99", {}, kOther},
    {"i_cv%", {}, kOther},
}};

constexpr std::array<std::string_view, 6> kUnits = {"(B)", "(elements)", "(float)", "(us)", "(GB/s)", "(%)"};

std::optional<NcclField> field_named(std::string_view name, std::string_view FieldName::*which = &FieldName::heading) {
  const auto found = std::ranges::find(kNames, name, which);
  return found == kNames.end() || name.empty() ? std::nullopt : std::optional(found->field);
}

bool is_unit(std::string_view word) { return word.starts_with('(') && word.ends_with(')'); }
bool is_word(std::string_view text) { return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0; }

bool of_side(NcclField field) { return field >= kTime; }

bool has_column(const NcclColumns& columns, NcclField field) {
  return std::ranges::find(columns.columns, field, &NcclColumn::field) != columns.columns.end();
}

// Words are where words belong, and there is a size, a time, and no time without its bandwidths or the other way
// around: what ends early was cut, also within its last number.
bool plausible(const NcclColumns& columns, const NcclCells& row) {
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

std::optional<NcclColumn> csv_column(std::string_view name) {
  const bool in_place = name.starts_with("ip_"), sided = in_place || name.starts_with("oop_");
  if (sided) name.remove_prefix(in_place ? 3 : 4);
  const auto field = field_named(name, &FieldName::csv);
  if (!field || of_side(*field) != sided) return std::nullopt;
  return NcclColumn{*field, in_place ? NcclSide::kInPlace : NcclSide::kOutOfPlace};
}

bool is_nccl_heading(std::span<const Word> words) {
  if (words.size() < 3 || words[0].text != "size") return false;
  const auto has = [words](std::string_view name) {
    return std::ranges::find(words, name, &Word::text) != words.end();
  };
  return (has("time") || has("cputime")) && (has("algbw") || has("busbw"));
}

NcclColumns::NcclColumns(std::span<const Word> heading, std::span<const NcclSide> sides) {
  constexpr std::array kUsualSides = {NcclSide::kOutOfPlace, NcclSide::kInPlace};
  const auto is_time = [](const Word& word) { return field_named(word.text) == kTime; };
  const auto times = static_cast<std::size_t>(std::ranges::count_if(heading, is_time));
  if (times > 2) problem = fmt::format("{} columns of times; expected out-of-place and in-place", times);
  const std::span<const NcclSide> order = times == sides.size() ? sides : kUsualSides;
  std::size_t side = 0;  // the next one
  std::string_view unknown;
  for (const Word& word : heading) {
    if (!problem.empty()) return;
    if (is_unit(word.text)) {
      problem = wrong_unit({&word, 1});
      if (!columns.empty()) columns.back().end = word.end;
      continue;
    }
    const auto field = field_named(word.text);
    if (!field) {
      if (unknown.empty()) unknown = word.text;
      continue;
    }
    if (!unknown.empty()) problem = fmt::format("column '{}' is not known", printable(unknown, 40));
    if (field == kTime) ++side;
    if (of_side(*field) && side == 0) problem = fmt::format("column '{}' before a time", word.text);
    if (!of_side(*field) && side > 0) problem = fmt::format("column '{}' after the times", word.text);
    const NcclColumn column{*field, side > 0 && side <= 2 ? order[side - 1] : NcclSide::kOutOfPlace, word.end};
    const auto same = [&column](const NcclColumn& c) { return c.field == column.field && c.side == column.side; };
    if (*field != kOther && std::ranges::any_of(columns, same)) problem = fmt::format("column '{}' twice", word.text);
    columns.push_back(column);
    if (side == 0) ++before_sides;
  }
  tail = !unknown.empty();
}

std::string wrong_unit(std::span<const Word> words) {
  for (const Word& word : words)
    if (is_unit(word.text) && std::ranges::find(kUnits, word.text) == kUnits.end())
      return fmt::format("unit '{}'; expected (B), (us) and (GB/s)", printable(word.text, 40));
  return {};
}

std::optional<NcclCells> NcclColumns::cells(std::span<const Word> words) const {
  const std::size_t expected = columns.size();
  if (words.size() == expected || (tail && words.size() > expected)) {
    const NcclCells row = in_order(*this, words);
    if (plausible(*this, row)) return row;
  }
  if (words.size() >= expected && !tail) return std::nullopt;
  const auto row = by_place(*this, words);
  return row && plausible(*this, *row) ? row : std::nullopt;
}

bool NcclColumns::ends_early(std::span<const Word> words) const {
  if (tail || words.size() < columns.size()) return words.size() <= columns.size();
  return columns.back().field != kWrong && words.back().end < columns.back().end;
}

}  // namespace orrery::study
