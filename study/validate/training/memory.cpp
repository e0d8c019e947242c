// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "study/validate/measured/output.h"
#include "study/validate/training/validation.h"

namespace orrery::study {
namespace {

// Bytes in use on the fullest device in place of seconds; of the rows whose memory was published.
MeasuredRows memory_rows(const MeasuredRows& rows) {
  MeasuredRows found;
  for (Measured row : rows) {
    if (!row.facts.contains("measured_memory_bytes")) continue;
    row.measured = row.facts["measured_memory_bytes"];
    row.predicted = row.facts["predicted_memory_bytes"];
    found.push_back(std::move(row));
  }
  return found;
}

// Column with a figure of the row that is farthest off.
ErrorColumn bytes_column(std::string_view heading, double Measured::*which) {
  return {std::string(heading), [which](const MeasuredRows& rows) {
            return rounded(Bytes(static_cast<std::int64_t>(worst_of(rows)->*which)));
          }};
}

// Family by family; nothing where no table has measured memory.
std::string measured_text(const TrainingValidation& validation) {
  const MeasuredRows rows = memory_rows(validation.rows);
  const auto all = errors_of(rows);
  if (!all) return {};
  ErrorTable text({"family"},
                  {error_column("rows"), error_column("median"), error_column("worst"),
                   bytes_column("predicted", &Measured::predicted), bytes_column("measured", &Measured::measured),
                   error_column("at"), error_column("bias")});
  for (const MeasuredGroup& family : training_families(rows)) text.row({table_of(family).title}, family.rows);
  return fmt::format(
      "\nError of the memory in use on the fullest device, in %:\n\n{}\nall {} rows: median {}, p90 {}\n", text.text(),
      all->rows, percent(all->median), percent(all->ninetieth));
}

// Bytes that a framework's allocator had handed out, family by family.
std::string allocated_text(std::string_view when, const MeasuredRows& rows) {
  const auto all = errors_of(rows);
  if (!all) return {};
  ErrorTable text({"family"},
                  {error_column("rows"), error_column("mean"), error_column("median"), error_column("p90"),
                   error_column("worst"), bytes_column("predicted", &Measured::predicted),
                   bytes_column("measured", &Measured::measured), error_column("at"), error_column("bias")});
  for (const MeasuredGroup& family : training_families(rows)) text.row({table_of(family).title}, family.rows);
  return fmt::format(
      "\nError of what the framework's allocator has handed out {}, in %:\n\n{}\nall {} rows: median {}, p90 {}\n",
      when, text.text(), all->rows, percent(all->median), percent(all->ninetieth));
}

// Every row, where its own error is asked for.
std::string allocated_rows_text(const TrainingValidation& validation) {
  report::Table text({"table", "row"}, {"when", "measured", "predicted", "error"}, {});
  text.read_across();
  const auto add = [&](std::string_view when, const MeasuredRows& rows) {
    for (const Measured& row : rows)
      text.row({row.table->name, row.label, std::string(when), Bytes(static_cast<std::int64_t>(row.measured)),
                Bytes(static_cast<std::int64_t>(row.predicted)), signed_percent_number(row.error())});
  };
  add("at rest", validation.at_rest);
  add("peak", validation.at_peak);
  return "\nEvery row: bytes of the framework's allocator, error in %\n\n" + text.text();
}

std::string misfits_text(const TrainingValidation& validation) {
  std::size_t rows = 0;
  std::string text;
  for (const MeasuredGroup& family : training_families(validation.rows)) {
    std::vector<std::string> labels;
    for (const Measured& row : family.rows)
      if (!row.facts["fits_memory"].get<bool>()) labels.push_back(row.label);
    if (!labels.empty()) text += fmt::format("  {}: {}\n", table_of(family).title, fmt::join(labels, ", "));
    rows += labels.size();
  }
  if (rows == 0) return {};
  return fmt::format("\nby Orrery's account {} {} not fit the devices' memory, but ran:\n{}", rows,
                     rows == 1 ? "row does" : "rows do", text);
}

}  // namespace

std::string training_memory_text(const TrainingValidation& validation, bool details) {
  std::string text = measured_text(validation) + allocated_text("at rest", validation.at_rest) +
                     allocated_text("at the peak", validation.at_peak);
  if (details && !validation.at_peak.empty()) text += allocated_rows_text(validation);
  return text + misfits_text(validation);
}

}  // namespace orrery::study
