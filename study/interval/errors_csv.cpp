// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "core/config/csv_lines.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/files/input_files.h"
#include "core/files/read_file.h"
#include "core/precision.h"
#include "core/suggest.h"
#include "study/interval/interval.h"

namespace orrery::study {
namespace {

constexpr double kMostPercent = 1e4;
constexpr double kMostSeconds = 1e6;

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> percent_of(std::string_view text) {
  const std::optional<double> value = number_in(text);
  return value && *value > -100 && *value < kMostPercent ? value : std::nullopt;
}

// Columns of a shape, behind the error.
constexpr std::string_view kRunColumns = ",measured_s,run,device,parameters,sequence,batch";
constexpr std::size_t kRunCells = 6 + kShapeDegrees.size();

// "family,model,architecture,software,precision,devices,error_percent".
std::string heading_of(const RunSchema& schema) {
  std::string heading = "family,";
  for (const RunSchema::Word& word : schema.words) heading += fmt::format("{},", word.column);
  heading += fmt::format("{}devices,error_percent", schema.has_precision ? "precision," : "");
  if (!schema.has_shapes) return heading;
  heading += kRunColumns;
  for (const std::string_view degree : kShapeDegrees) heading += fmt::format(",{}", degree);
  return heading;
}

// The run that `cells` from `first` on tell of.
std::optional<MeasuredRun> run_in(std::span<const CsvCell> cells, const Location& line, Diagnostics& diagnostics) {
  const std::optional<double> seconds = number_in(cells[0].text);
  MeasuredRun run{std::string(cells[1].text), {std::string(cells[2].text), 0, 0, 0, {}}, seconds.value_or(0)};
  bool is_whole = true;
  const auto read = [&](const CsvCell& cell, std::int64_t& to) {
    const std::optional<std::int64_t> number = parse_whole_number(cell.text);
    if (!number || *number < 0) {
      diagnostics.error({line.file, line.line, cell.column},
                        fmt::format("invalid number '{}'", printable(cell.text, 40)));
      is_whole = false;
    }
    to = number.value_or(0);
  };
  read(cells[3], run.shape.parameters);
  read(cells[4], run.shape.sequence);
  read(cells[5], run.shape.batch);
  for (std::size_t i = 0; i < run.shape.degrees.size(); ++i) read(cells[6 + i], run.shape.degrees[i]);
  if (!seconds || !(*seconds > 0 && *seconds < kMostSeconds)) {
    diagnostics.error({line.file, line.line, cells[0].column},
                      fmt::format("'{}' is not a time in seconds", printable(cells[0].text, 40)));
    return std::nullopt;
  }
  return is_whole ? std::optional(run) : std::nullopt;
}

// A text as a cell that is read again: cells that are read have no commas and quotes.
std::string plain_cell(std::string text) {
  std::ranges::replace(text, ',', ';');
  std::ranges::replace(text, '"', '\'');
  return text;
}

std::string run_cells(const MeasuredRun& run) {
  std::string text =
      fmt::format(",{:.6g},{},{},{},{},{}", run.measured, plain_cell(run.name), plain_cell(run.shape.device),
                  run.shape.parameters, run.shape.sequence, run.shape.batch);
  for (const std::int64_t degree : run.shape.degrees) text += fmt::format(",{}", degree);
  return text;
}

// Refuses words that no job has, whose runs would never be comparable with one.
bool has_known_words(std::span<const CsvCell> cells, const RunSchema& schema, const Location& line,
                     Diagnostics& diagnostics) {
  bool is_known = true;
  const auto check = [&](const CsvCell& cell, std::string_view column, const std::vector<std::string>& known) {
    if (known.empty() || std::ranges::find(known, cell.text) != known.end()) return;
    is_known = false;
    diagnostics.error({line.file, line.line, cell.column},
                      fmt::format("unknown {} '{}'", column, printable(cell.text, 40)), suggestion(cell.text, known));
  };
  for (std::size_t i = 0; i < schema.words.size(); ++i)
    check(cells[1 + i], schema.words[i].column, schema.words[i].known);
  if (schema.has_precision) check(cells[1 + schema.words.size()], "precision", precision_names());
  return is_known;
}

}  // namespace

std::vector<MeasuredError> read_errors_csv(std::string_view text, const std::string& name, const RunSchema& schema,
                                           Diagnostics& diagnostics) {
  const std::size_t precision_at = schema.words.size() + 1;
  const std::size_t devices_at = precision_at + (schema.has_precision ? 1 : 0);
  const std::size_t columns = devices_at + 2 + (schema.has_shapes ? kRunCells : 0);
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
    const bool is_known = has_known_words(cells, schema, {name, line->number, 1}, diagnostics);
    if (!devices || !percent || !is_known) continue;
    RunKind kind{{}, schema.has_precision ? std::string(cells[precision_at].text) : std::string(), *devices};
    kind.words.reserve(schema.words.size());
    for (std::size_t i = 1; i < precision_at; ++i) kind.words.emplace_back(cells[i].text);
    errors.push_back({std::string(cells[0].text), std::move(kind), *percent / 100});
    if (schema.has_shapes)
      errors.back().run = run_in(std::span(cells).subspan(devices_at + 2), {name, line->number, 1}, diagnostics);
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
    text += fmt::format(",{},{:.1f}{}\n", one.kind.devices, 100 * one.error, one.run ? run_cells(*one.run) : "");
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
