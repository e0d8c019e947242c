// SPDX-License-Identifier: MIT
#include "study/benchmark/algorithms.h"

#include <algorithm>

#include <fmt/format.h>

#include "collectives/algorithms.h"
#include "collectives/nccl/options.h"
#include "core/assert.h"
#include "report/table.h"
#include "study/plot/curves.h"

namespace orrery::study {
namespace {

std::vector<std::string> names_of_all(bool is_nccl) {
  if (is_nccl) return collectives::nccl_algorithm_names();
  std::vector<std::string> names;
  for (const collectives::Algorithm& algorithm : collectives::algorithms()) names.emplace_back(algorithm.name);
  return names;
}

bool can_answer(const CollectiveQuestion& question, const workload::CallOperation& operation, std::span<const Bytes> sizes,
                const ConfigFiles& files) {
  try {
    check_collective(question, operation, sizes, files);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

std::vector<CollectiveQuestion> with_each_algorithm(const CollectiveQuestion& question,
                                                    const workload::CallOperation& operation, std::span<const Bytes> sizes,
                                                    const ConfigFiles& files) {
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
  text.column("fastest", report::Table::Align::kLeft);
  const std::vector<CollectiveRow>& first = tables.front().rows;
  const bool has_least = std::ranges::all_of(first, [](const CollectiveRow& row) { return row.least.has_value(); });
  if (has_least) text.column("bound");
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

std::string collective_plot(std::span<const CollectiveTable> tables, std::span<const std::string> names) {
  ORRERY_ASSERT(!tables.empty() && tables.size() == names.size());
  CurvePlot plot;
  plot.title = fmt::format("{} by {}", tables.front().operation, tables.size() == 1 ? "size" : "size and choice");
  Curve bound{"bound", {}, true};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    Curve curve{names[i], {}};
    for (const CollectiveRow& row : tables[i].rows) {
      if (row.bytes == Bytes(0) || row.time == Duration::zero()) continue;
      curve.values.emplace_back(row.bytes, microseconds(row.time));
      if (i == 0 && row.least && *row.least > Duration::zero())
        bound.values.emplace_back(row.bytes, microseconds(*row.least));
    }
    if (!curve.values.empty()) plot.curves.push_back(std::move(curve));
    const std::string machine = fmt::format("{}: {}", tables[i].cluster, machine_text(tables[i]));
    if (std::ranges::find(plot.captions, machine) == plot.captions.end()) plot.captions.push_back(machine);
  }
  if (!bound.values.empty()) {
    plot.captions.push_back(
        fmt::format("bound: latency, or what must leave the ranks and nodes of {} over all of their links, without "
                    "sums in switches",
                    tables.front().cluster));
    plot.curves.push_back(std::move(bound));
  }
  plot.up = "Time (us)";
  return curve_plot(plot);
}

}  // namespace orrery::study
