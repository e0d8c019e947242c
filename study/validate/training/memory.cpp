// SPDX-License-Identifier: MIT
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "report/table.h"
#include "study/errors.h"
#include "study/validate/training/validation.h"

namespace orrery::study {
namespace {

struct MemoryRow {
  const ValidatedTrainingRow* row = nullptr;

  double error() const {
    return static_cast<double>(row->predicted.memory.count()) / static_cast<double>(row->row->memory->count()) - 1;
  }
};

std::vector<MemoryRow> measured_rows(const ValidatedTrainingFamily& family) {
  std::vector<MemoryRow> rows;
  for (const ValidatedTrainingRow& row : family.rows)
    if (row.row->memory) rows.push_back({&row});
  return rows;
}

// Family by family; nothing where no table has measured memory.
std::string measured_text(const TrainingValidation& validation) {
  report::Table text;
  text.column("family", report::Table::Align::kLeft);
  for (const char* heading : {"rows", "median", "worst", "predicted", "measured"}) text.column(heading);
  text.column("at", report::Table::Align::kLeft);
  text.column("bias");
  std::vector<double> errors;
  for (const ValidatedTrainingFamily& family : validation.families) {
    const std::vector<MemoryRow> rows = measured_rows(family);
    if (rows.empty()) continue;
    double bias = 0;
    for (const MemoryRow& row : rows) {
      errors.push_back(std::abs(row.error()));
      bias += row.error() / static_cast<double>(rows.size());
    }
    const MemoryRow& worst = worst_of(rows);
    text.row({family.title, fmt::format("{}", rows.size()),
              fmt::format("{:.1f}", 100 * summary_of(rows, [](const MemoryRow&) { return true; })->median),
              fmt::format("{:+.1f}", 100 * worst.error()), rounded(worst.row->predicted.memory),
              rounded(*worst.row->row->memory), worst.row->row->label, fmt::format("{:+.1f}", 100 * bias)});
  }
  const auto all = summary_of(std::move(errors));
  if (!all) return {};
  return fmt::format(
      "\nError of the memory in use on the fullest device, in %:\n\n{}\nall {} rows: median {:.1f} %, p90 {:.1f} %\n",
      text.text(), all->rows, 100 * all->median, 100 * all->ninetieth);
}

std::string misfits_text(const TrainingValidation& validation) {
  std::size_t rows = 0;
  std::string text;
  for (const ValidatedTrainingFamily& family : validation.families) {
    std::vector<std::string> labels;
    for (const ValidatedTrainingRow& row : family.rows)
      if (!row.predicted.fits) labels.push_back(row.row->label);
    if (!labels.empty()) text += fmt::format("  {}: {}\n", family.title, fmt::join(labels, ", "));
    rows += labels.size();
  }
  if (rows == 0) return {};
  return fmt::format("\nby Orrery's account {} {} not fit the devices' memory, but ran:\n{}", rows,
                     rows == 1 ? "row does" : "rows do", text);
}

}  // namespace

std::string training_memory_text(const TrainingValidation& validation) {
  return measured_text(validation) + misfits_text(validation);
}

}  // namespace orrery::study
