// SPDX-License-Identifier: MIT
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "core/config/csv_lines.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/input_files.h"
#include "study/interval/interval.h"
#include "workload/chakra/file.h"

namespace orrery::study {
namespace {

constexpr std::string_view kHeading = "family,software,architecture,model,precision,devices,error_percent";
constexpr std::size_t kCells = 7;
constexpr std::string_view kFile = "validation/training-errors.csv";
constexpr double kMostPercent = 1e4;

std::optional<double> percent_of(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !(value > -100 && value < kMostPercent))
    return std::nullopt;
  return value;
}

}  // namespace

std::vector<MeasuredError> read_errors_csv(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  CsvLines lines(text);
  const std::optional<CsvLine> heading = lines.next();
  if (!heading || heading->text != kHeading) {
    diagnostics.error({name, heading ? heading->number : 1, 1}, "not the errors of training jobs",
                      fmt::format("the first line is '{}'", kHeading));
    return {};
  }
  std::vector<MeasuredError> errors;
  while (const std::optional<CsvLine> line = lines.next()) {
    const std::vector<CsvCell> cells = line->cells();
    if (cells.size() != kCells) {
      diagnostics.error({name, line->number, 1},
                        fmt::format("{} cells; expected {}, one for each column", cells.size(), kCells));
      continue;
    }
    const std::optional<std::int64_t> devices = parse_whole_number(cells[5].text);
    const std::optional<double> percent = percent_of(cells[6].text);
    if (!devices || *devices < 1)
      diagnostics.error({name, line->number, cells[5].column},
                        fmt::format("invalid number of devices '{}'", printable(cells[5].text, 40)));
    if (!percent)
      diagnostics.error({name, line->number, cells[6].column},
                        fmt::format("'{}' is not an error in percent", printable(cells[6].text, 40)),
                        "a number above -100");
    const auto word = [&](std::size_t cell) { return std::string(cells[cell].text); };
    if (devices && percent) errors.push_back({word(0), {word(1), word(2), word(3), word(4), *devices}, *percent / 100});
  }
  if (errors.empty()) diagnostics.error({name, 1, 1}, "no run of a training job");
  return errors;
}

std::string errors_csv(std::span<const MeasuredError> errors) {
  std::string text =
      "# Measured / predicted - 1 of published runs (configs/validation/training), each by constants fitted without "
      "its\n"
      "# family: written by `orrery validate training --cross --errors FILE`.\n";
  text += fmt::format("{}\n", kHeading);
  for (const MeasuredError& one : errors)
    text += fmt::format("{},{},{},{},{},{},{:.1f}\n", one.family, one.kind.software, one.kind.architecture,
                        one.kind.model, one.kind.precision, one.kind.devices, 100 * one.error);
  return text;
}

std::vector<MeasuredError> shipped_errors(const ConfigFiles& files) {
  const std::string file = (files.shipped() / kFile).string();
  if (!std::filesystem::exists(file)) return {};
  note_input(file, InputKind::kConfiguration);
  Diagnostics diagnostics;
  std::vector<MeasuredError> errors = read_errors_csv(workload::read_file(file), file, diagnostics);
  diagnostics.throw_if_errors();
  return errors;
}

}  // namespace orrery::study
