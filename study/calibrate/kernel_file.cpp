// SPDX-License-Identifier: MIT
#include "study/calibrate/kernel_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/csv_lines.h"
#include "core/config/quantity_text.h"
#include "core/config/tree.h"
#include "core/files/json.h"
#include "core/files/read_file.h"
#include "core/suggest.h"
#include "study/calibrate/kernel_fields.h"
#include "workload/chakra/file.h"

namespace orrery::study {
namespace {

constexpr std::size_t kLargestFile = 64u << 20;
constexpr std::string_view kSchema = "orrery.measurement/1";
constexpr std::string_view kSchemaOfAny = "orrery.measurement/";

// A warning that many rows share is given once.
void warn_once(Diagnostics& diagnostics, const Diagnostics& found) {
  for (const Problem& problem : found.problems()) {
    const auto same = [&](const Problem& other) {
      return other.severity == Severity::kWarning && other.message == problem.message &&
             other.where.file == problem.where.file;
    };
    if (problem.severity == Severity::kError || std::ranges::none_of(diagnostics.problems(), same))
      diagnostics.add(problem);
  }
}

std::string_view without_mark_of_utf8(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

bool is_json_text(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

// Rows under a heading.
class TableReader {
 public:
  TableReader(KernelFile& file, const PeakOf& peak, Diagnostics& diagnostics)
      : file_(file), peak_(peak), diagnostics_(diagnostics) {}

  void read(std::string_view text) {
    CsvLines lines(text);
    const std::optional<CsvLine> heading = lines.next();
    if (!heading)
      return diagnostics_.error({file_.path}, "the file has no lines",
                                fmt::format("the first line names columns: {}", kinds_of_fields()));
    const std::size_t errors = diagnostics_.error_count();
    if (!read_heading(*heading)) return;
    Diagnostics found;
    std::size_t rows = 0;
    for (; const auto line = lines.next(); ++rows) read_row(*line, found);
    warn_once(diagnostics_, found);
    if (rows == 0 && errors == diagnostics_.error_count())
      diagnostics_.error({file_.path, heading->number}, "no rows under the names of the columns",
                         "the file may have been cut off");
  }

 private:
  bool read_heading(const CsvLine& heading) {
    std::vector<std::string_view> fields;
    const std::size_t errors = diagnostics_.error_count();
    for (const CsvCell& cell : heading.cells()) {
      columns_.emplace_back(cell.text);
      fields.push_back(field_name(cell.text));
    }
    const Location where{file_.path, heading.number, 1};
    if (!tell_a_kind(fields)) {
      diagnostics_.error(where, fmt::format("the columns {} are those of no kernels", printable(heading.text, 80)),
                         fmt::format("the first line names {}", kinds_of_fields()));
      return false;
    }
    if (std::ranges::none_of(fields, is_time_field))
      diagnostics_.error(where, "no column is a time", "latency_us, time_ms, seconds and the like name their unit");
    check_slips(where, fields);
    warn_of_doubles(where, fields);
    return errors == diagnostics_.error_count();
  }

  // Columns that nobody reads may have any name but one that looks like a slip in a known one.
  void check_slips(const Location& where, const std::vector<std::string_view>& fields) {
    const std::vector<std::string> known = known_field_names();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!fields[i].empty() || columns_[i].size() < 4) continue;
      const std::string near = nearest_name(columns_[i], known);
      if (!near.empty() && std::ranges::find(fields, field_name(near)) == fields.end())
        diagnostics_.error(where, fmt::format("unknown column '{}'", printable(columns_[i], 40)),
                           fmt::format("did you mean '{}'?", near));
    }
  }

  // One of several columns that say the same counts, the first, whatever the others say.
  void warn_of_doubles(const Location& where, const std::vector<std::string_view>& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto first = static_cast<std::size_t>(std::ranges::find(fields, fields[i]) - fields.begin());
      if (fields[i].empty() || first == i) continue;
      diagnostics_.warning(where,
                           fmt::format("the columns '{}' and '{}' say the same of a kernel: the first counts",
                                       printable(columns_[first], 40), printable(columns_[i], 40)),
                           "leave one of them out");
    }
  }

  void read_row(const CsvLine& line, Diagnostics& found) {
    const std::vector<CsvCell> cells = line.cells();
    if (cells.size() != columns_.size())
      return found.error({file_.path, line.number, 1},
                         fmt::format("{} cells; expected {}, one for each column", cells.size(), columns_.size()),
                         line.ended ? "" : "the file ends within this line");
    KernelFields fields({file_.path, line.number});
    for (std::size_t i = 0; i < cells.size(); ++i)
      fields.set(columns_[i], cells[i].text, {file_.path, line.number, cells[i].column});
    if (const auto timing = timing_of(fields, peak_, found)) file_.timings.push_back(*timing);
  }

  KernelFile& file_;
  const PeakOf& peak_;
  Diagnostics& diagnostics_;
  std::vector<std::string> columns_;
};

// A document of scripts/measure, or a list of kernels alone.
class DocumentReader {
 public:
  DocumentReader(KernelFile& file, const PeakOf& peak, Diagnostics& diagnostics)
      : file_(file), peak_(peak), diagnostics_(diagnostics) {}

  void read(std::string_view text) {
    if (!check_syntax(text)) return;
    std::string plain(text);
    std::ranges::replace(plain, '\t', ' ');  // between JSON's values only: its strings escape them
    const ConfigValue root = parse_config(plain, file_.path, diagnostics_);
    if (diagnostics_.has_errors()) return;
    if (root.kind == ConfigValue::Kind::kList) return read_kernels(root);
    if (check_schema(root)) read_members(root);
  }

 private:
  bool check_syntax(std::string_view text) {
    try {
      parse_json<nlohmann::json>(text);
      return true;
    } catch (const JsonError& error) {
      const std::string_view before = text.substr(0, error.offset());
      const auto line = static_cast<int>(std::ranges::count(before, '\n')) + 1;
      const bool is_cut = error.offset() >= text.find_last_not_of(" \r\n\t");
      diagnostics_.error({file_.path, line}, error.reason(),
                         is_cut ? "the file ends within a value: was it copied before scripts/measure had ended?" : "");
      return false;
    }
  }

  bool check_schema(const ConfigValue& root) {
    const ConfigEntry* schema = root.find("schema");
    if (schema != nullptr && schema->value.scalar == kSchema) return true;
    if (schema == nullptr)
      diagnostics_.error(root.where, fmt::format("no member \"schema\"; expected \"{}\"", kSchema),
                         "a list of kernels, [{\"m\": 4096, ...}], needs none");
    else
      diagnostics_.error(
          schema->value.where, fmt::format("schema '{}'; expected '{}'", printable(schema->value.scalar, 60), kSchema),
          schema->value.scalar.starts_with(kSchemaOfAny) ? "the file is of another version of scripts/measure"
                                                         : "the file is no output of scripts/measure");
    return false;
  }

  void read_members(const ConfigValue& root) {
    const std::vector<std::string> known = {"schema", "device",      "software", "kernels",
                                            "host",   "collectives", "skipped",  "note"};
    for (const ConfigEntry& entry : root.entries) {
      if (entry.key == "device") read_device_member(entry.value);
      if (entry.key == "software")
        for (const ConfigEntry& part : entry.value.entries) file_.software.emplace_back(part.key, part.value.scalar);
      if (entry.key == "kernels" || entry.key == "host") read_kernels(entry.value);
      if (entry.key == "collectives") read_collectives(entry.value);
      if (entry.key == "skipped") read_skipped(entry.value);
      if (std::ranges::find(known, entry.key) == known.end())
        diagnostics_.warning(entry.where, fmt::format("'{}' is no member of a measurement", printable(entry.key, 40)),
                             suggestion(entry.key, known));
    }
    if (file_.timings.empty() && file_.collectives.empty() && !diagnostics_.has_errors())
      diagnostics_.error(root.where, "neither kernels nor collectives were timed",
                         file_.skipped.empty() ? "" : fmt::format("skipped: {}", file_.skipped.front()));
  }

  void read_device_member(const ConfigValue& device) {
    if (const ConfigEntry* name = device.find("name")) file_.device = name->value.scalar;
    const ConfigEntry* memory = device.find("memory_bytes");
    if (memory == nullptr || memory->value.kind == ConfigValue::Kind::kNull) return;
    const std::optional<std::int64_t> bytes = parse_whole_number(memory->value.scalar);
    if (bytes && *bytes >= 0)
      file_.memory = Bytes(*bytes);
    else
      diagnostics_.error(memory->value.where,
                         fmt::format("memory_bytes '{}' is not a whole number", printable(memory->value.scalar, 40)));
  }

  bool is_list(const ConfigValue& value, std::string_view what) {
    if (value.kind == ConfigValue::Kind::kList) return true;
    diagnostics_.error(value.where, fmt::format("{} are {}; expected a list", what, kind_name(value.kind)));
    return false;
  }

  KernelFields fields_of(const ConfigValue& item) {
    KernelFields fields(item.where);
    for (const ConfigEntry& entry : item.entries)
      if (entry.value.kind == ConfigValue::Kind::kScalar) fields.set(entry.key, entry.value.scalar, entry.value.where);
    return fields;
  }

  void read_kernels(const ConfigValue& kernels) {
    if (!is_list(kernels, "kernels")) return;
    Diagnostics found;
    for (const ConfigValue& item : kernels.items) {
      if (item.kind != ConfigValue::Kind::kMap)
        found.error(item.where, fmt::format("a kernel is {}; expected an object", kind_name(item.kind)),
                    "{\"kind\": \"product\", \"m\": 4096, ..., \"seconds\": 0.001}");
      else if (const auto timing = timing_of(fields_of(item), peak_, found))
        file_.timings.push_back(*timing);
    }
    warn_once(diagnostics_, found);
  }

  double number(const ConfigValue& item, std::string_view key, double least, double fallback) {
    const ConfigEntry* entry = item.find(key);
    if (entry == nullptr && fallback > 0) return fallback;
    char* end = nullptr;
    const double value = entry == nullptr ? 0 : std::strtod(entry->value.scalar.c_str(), &end);
    const bool is_number = entry != nullptr && !entry->value.scalar.empty() && *end == '\0' && std::isfinite(value);
    if (is_number && value >= least) return value;
    diagnostics_.error(entry == nullptr ? item.where : entry->value.where,
                       entry == nullptr ? fmt::format("a collective without '{}'", key)
                                        : fmt::format("{} '{}' is no number from {:g} on", key,
                                                      printable(entry->value.scalar, 40), least),
                       "{\"op\": \"all_reduce\", \"bytes\": 1048576, \"ranks\": 8, \"nodes\": 1, \"seconds\": 3e-5}");
    return 1;
  }

  void read_collectives(const ConfigValue& collectives) {
    if (!is_list(collectives, "collectives")) return;
    for (const ConfigValue& item : collectives.items) {
      const std::size_t errors = diagnostics_.error_count();
      TimedCollective timed;
      timed.where = item.where;
      const ConfigEntry* operation = item.find("op");
      if (operation == nullptr)
        diagnostics_.error(item.where, "a collective without 'op'", "\"op\": \"all_reduce\"");
      else
        timed.operation = operation->value.scalar;
      timed.bytes = Bytes(std::llround(std::min(number(item, "bytes", 1, 0), 1e18)));
      timed.ranks = static_cast<std::uint32_t>(std::min(number(item, "ranks", 2, 0), 1e9));
      timed.nodes = static_cast<std::uint32_t>(std::min(number(item, "nodes", 1, 1), 1e9));
      timed.seconds = number(item, "seconds", 1e-12, 0);
      timed.count = number(item, "count", 1, 1);
      if (errors == diagnostics_.error_count()) file_.collectives.push_back(std::move(timed));
    }
  }

  void read_skipped(const ConfigValue& skipped) {
    if (!is_list(skipped, "skipped kernels")) return;
    for (const ConfigValue& item : skipped.items) {
      const ConfigEntry* what = item.find("what");
      const ConfigEntry* reason = item.find("reason");
      if (what != nullptr)
        file_.skipped.push_back(fmt::format("{}: {}", printable(what->value.scalar, 80),
                                            reason == nullptr ? "" : printable(reason->value.scalar, 120)));
    }
  }

  KernelFile& file_;
  const PeakOf& peak_;
  Diagnostics& diagnostics_;
};

}  // namespace

bool is_kernel_file(std::string_view beginning) {
  beginning = without_mark_of_utf8(beginning);
  if (is_json_text(beginning)) {
    if (beginning.find(kSchemaOfAny) != std::string_view::npos) return true;
    const bool is_list = beginning[beginning.find_first_not_of(" \t\r\n")] == '[';
    return is_list && (beginning.find("\"seconds\"") != std::string_view::npos ||
                       beginning.find("\"latency_us\"") != std::string_view::npos);
  }
  CsvLines lines(beginning);
  const std::optional<CsvLine> heading = lines.next();
  if (!heading) return false;
  std::vector<std::string_view> fields;
  for (const CsvCell& cell : heading->cells()) fields.push_back(field_name(cell.text));
  return fields.size() > 1 && tell_a_kind(fields) && std::ranges::any_of(fields, is_time_field);
}

KernelFile read_kernel_text(std::string_view text, const std::string& path, const PeakOf& peak,
                            Diagnostics& diagnostics) {
  KernelFile file;
  file.path = path;
  Diagnostics found;
  text = without_mark_of_utf8(text);
  if (is_json_text(text))
    DocumentReader(file, peak, found).read(text);
  else
    TableReader(file, peak, found).read(text);
  found.throw_if_errors();
  for (const Problem& problem : found.problems()) diagnostics.add(problem);
  return file;
}

KernelFile read_kernel_file(const std::string& path, const PeakOf& peak, Diagnostics& diagnostics) {
  std::string text = read_file(path, {.most = kLargestFile, .what = "a table of timed kernels"});
  if (workload::is_gzip(text)) text = workload::inflate_gzip(path, text);
  drop_byte_order_mark(path, text);
  return read_kernel_text(text, path, peak, diagnostics);
}

}  // namespace orrery::study
