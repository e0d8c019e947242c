// SPDX-License-Identifier: MIT
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "core/config/csv_lines.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/files/input_files.h"
#include "study/interval/interval.h"
#include "core/files/read_file.h"

namespace orrery::study {
namespace {

constexpr double kMostPercent = 1e4;

std::optional<double> percent_of(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !(value > -100 && value < kMostPercent))
    return std::nullopt;
  return value;
}

// "family,model,architecture,software,precision,devices,error_percent".
std::string heading_of(const RunSchema& schema) {
  std::string heading = "family,";
  for (const RunSchema::Word& word : schema.words) heading += fmt::format("{},", word.column);
  return heading + (schema.has_precision ? "precision," : "") + "devices,error_percent";
}

}  // namespace

std::vector<MeasuredError> read_errors_csv(std::string_view text, const std::string& name, const RunSchema& schema,
                                           Diagnostics& diagnostics) {
  const std::size_t precision_at = schema.words.size() + 1;
  const std::size_t devices_at = precision_at + (schema.has_precision ? 1 : 0);
  const std::size_t columns = devices_at + 2;
  CsvLines lines(text);
  const std::optional<CsvLine> heading = lines.next();
  if (!heading || heading->text != heading_of(schema)) {
    diagnostics.error({name, heading ? heading->number : 1, 1}, fmt::format("not the errors of {}", schema.runs),
                      fmt::format("the first line is '{}'", heading_of(schema)));
    return {};
  }
  std::vector<MeasuredError> errors;
  while (const std::optional<CsvLine> line = lines.next()) {
    const std::vector<CsvCell> cells = line->cells();
    if (cells.size() != columns) {
      diagnostics.error({name, line->number, 1},
                        fmt::format("{} cells; expected {}, one for each column", cells.size(), columns));
      continue;
    }
    const CsvCell& devices_cell = cells[devices_at];
    const CsvCell& percent_cell = cells[devices_at + 1];
    const std::optional<std::int64_t> devices = parse_whole_number(devices_cell.text);
    const std::optional<double> percent = percent_of(percent_cell.text);
    if (!devices || *devices < 1)
      diagnostics.error({name, line->number, devices_cell.column},
                        fmt::format("invalid number of devices '{}'", printable(devices_cell.text, 40)));
    if (!percent)
      diagnostics.error({name, line->number, percent_cell.column},
                        fmt::format("'{}' is not an error in percent", printable(percent_cell.text, 40)),
                        "a number above -100");
    if (!devices || !percent) continue;
    RunKind kind{{}, schema.has_precision ? std::string(cells[precision_at].text) : std::string(), *devices};
    for (std::size_t i = 1; i < precision_at; ++i) kind.words.emplace_back(cells[i].text);
    errors.push_back({std::string(cells[0].text), std::move(kind), *percent / 100});
  }
  if (errors.empty()) diagnostics.error({name, 1, 1}, fmt::format("no error of {}", schema.runs));
  return errors;
}

std::string errors_csv(std::span<const MeasuredError> errors, const RunSchema& schema) {
  std::string text = fmt::format("{}{}\n", schema.about, heading_of(schema));
  for (const MeasuredError& one : errors) {
    text += one.family;
    for (const std::string& word : one.kind.words) text += fmt::format(",{}", word);
    if (schema.has_precision) text += fmt::format(",{}", one.kind.precision);
    text += fmt::format(",{},{:.1f}\n", one.kind.devices, 100 * one.error);
  }
  return text;
}

std::vector<MeasuredError> shipped_errors(const RunSchema& schema, const ConfigFiles& files) {
  const std::string file = (files.shipped() / schema.file).string();
  if (!std::filesystem::exists(file)) return {};
  note_input(file, InputKind::kConfiguration);
  Diagnostics diagnostics;
  std::vector<MeasuredError> errors = read_errors_csv(read_text(file), file, schema, diagnostics);
  diagnostics.throw_if_errors();
  return errors;
}

}  // namespace orrery::study
