// SPDX-License-Identifier: MIT
#include "study/benchmark/algorithms.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "collectives/algorithms.h"
#include "collectives/nccl/options.h"
#include "core/assert.h"
#include "core/config/quantity_text.h"
#include "report/plot/style.h"
#include "report/table.h"

namespace orrery::study {
namespace {

using report::PicturePanel;
using report::PictureSeries;
using report::PictureSpot;
using report::SeriesShape;

std::vector<std::string> names_of_all(bool is_nccl) {
  if (is_nccl) return collectives::nccl_algorithm_names();
  std::vector<std::string> names;
  for (const collectives::Algorithm& algorithm : collectives::algorithms()) names.emplace_back(algorithm.name);
  return names;
}

bool can_answer(const CollectiveQuestion& question, const workload::CallOperation& operation,
                std::span<const Bytes> sizes, const ConfigFiles& files) {
  try {
    check_collective(question, operation, sizes, files);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

std::vector<CollectiveQuestion> with_each_algorithm(const CollectiveQuestion& question,
                                                    const workload::CallOperation& operation,
                                                    std::span<const Bytes> sizes, const ConfigFiles& files) {
  CollectiveQuestion plain = question;
  plain.algorithm.clear();
  check_collective(plain, operation, sizes, files);
  Diagnostics ignored;
  const bool is_nccl = read_question(plain, operation, files, ignored).nccl != nullptr;
  std::vector<CollectiveQuestion> questions;
  for (const std::string& name : names_of_all(is_nccl)) {
    plain.algorithm = name;
    if (can_answer(plain, operation, sizes, files)) questions.push_back(plain);
  }
  if (questions.empty())
    throw InputError({"--algo"}, fmt::format("no algorithm does {} here", operation.name), "leave --algo out");
  return questions;
}

bool runs_as_asked(const CollectiveTable& table) {
  return table.library.empty() ||
         std::ranges::find(table.rows, table.algorithm, &CollectiveRow::algorithm) != table.rows.end();
}

std::string algorithms_text(std::span<const CollectiveTable> tables) {
  ORRERY_ASSERT(!tables.empty());
  report::Table text;
  text.column("size (B)");
  for (const CollectiveTable& table : tables) text.column(table.algorithm);
  text.column("fastest", report::Table::Align::kLeft, report::Interest::kAnswer);
  const std::vector<CollectiveRow>& first = tables.front().rows;
  const bool has_least = std::ranges::all_of(first, [](const CollectiveRow& row) { return row.least.has_value(); });
  if (has_least) text.column("bound", report::kRight, report::Interest::kDetail);
  for (std::size_t row = 0; row < first.size(); ++row) {
    std::vector<std::string> cells = {fmt::format("{}", first[row].bytes.count())};
    for (const CollectiveTable& table : tables)
      cells.push_back(fmt::format("{:.2f}", microseconds(table.rows[row].time)));
    cells.push_back(std::ranges::min_element(tables, {}, [row](const CollectiveTable& table) {
                      return table.rows[row].time;
                    })->algorithm);
    if (has_least) cells.push_back(fmt::format("{:.2f}", microseconds(*first[row].least)));
    text.row(std::move(cells));
  }
  return fmt::format("{} on {}: {}, times in us\n\n", tables.front().operation, tables.front().cluster,
                     machine_text(tables.front())) +
         text.text();
}

report::Picture collective_picture(std::span<const CollectiveTable> tables, std::span<const std::string> names) {
  ORRERY_ASSERT(!tables.empty() && tables.size() == names.size());
  report::Picture picture;
  picture.title = fmt::format("{} by {}", tables.front().operation, tables.size() == 1 ? "size" : "size and choice");
  picture.fields = {"name"};
  PictureSeries bound{"bound", SeriesShape::kBound, tables.size(), tables.size(), {"bound"}, {}};
  std::vector<PictureSeries> times, rates;
  double longest = 0, fastest = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    PictureSeries time{names[i], SeriesShape::kLine, i, report::mark_beside(i), {names[i]}, {}}, rate = time;
    for (const CollectiveRow& row : tables[i].rows) {
      if (row.bytes == Bytes(0) || row.time == Duration::zero()) continue;
      const auto spot = [&](double value, const std::string& text) {
        PictureSpot one{static_cast<double>(row.bytes.count()), value};
        one.note = fmt::format("{}, {}: {}, {}, bound by {}", names[i], rounded(row.bytes), text, row.algorithm,
                               row.bound.name);
        return one;
      };
      time.spots.push_back(spot(seconds(row.time), rounded(row.time)));
      longest = std::max(longest, seconds(row.time));
      if (row.bus_bandwidth > 0)
        rate.spots.push_back(spot(row.bus_bandwidth, rounded(Bandwidth(std::llround(row.bus_bandwidth)))));
      fastest = std::max(fastest, row.bus_bandwidth);
      if (i == 0 && row.least && *row.least > Duration::zero())
        bound.spots.push_back({static_cast<double>(row.bytes.count()), seconds(*row.least)});
    }
    if (!time.spots.empty()) times.push_back(std::move(time));
    if (!rate.spots.empty()) rates.push_back(std::move(rate));
    const std::string machine = fmt::format("{}: {}", tables[i].cluster, machine_text(tables[i]));
    if (std::ranges::find(picture.captions, machine) == picture.captions.end()) picture.captions.push_back(machine);
  }
  if (!bound.spots.empty()) {
    picture.captions.push_back(
        fmt::format("bound: latency, or what must leave the ranks and nodes of {} over all of their links, without "
                    "sums in switches",
                    tables.front().cluster));
    times.push_back(std::move(bound));
  }
  const report::PictureAxis size{"message size", "bytes", {"bytes", 1, true}, true};
  if (!times.empty())
    picture.panels.push_back(
        {"Time", size, {"time", "time_s", report::unit_for("s", longest), true}, std::move(times)});
  if (!rates.empty())
    picture.panels.push_back(
        {"Bus bandwidth", size, {"bus bandwidth", "busbw_Bps", report::unit_for("B/s", fastest)}, std::move(rates)});
  picture.keys = {report::key_of_series(picture.panels)};
  return picture;
}

}  // namespace orrery::study
