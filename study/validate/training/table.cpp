// SPDX-License-Identifier: MIT
#include "study/validate/training/table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/quantity_text.h"
#include "core/suggest.h"
#include "workload/training/layers/model_layers.h"

namespace orrery::study {
namespace {

constexpr std::array<std::string_view, 6> kFigures = {"time",
                                                      "tokens_per_s_per_gpu",
                                                      "samples_per_s",
                                                      "samples_per_s_per_gpu",
                                                      "hardware_tflops_per_gpu",
                                                      "model_tflops_per_gpu"};

using Texts = std::vector<std::pair<std::string, std::string>>;

bool is_scalar(const ConfigValue& value) { return value.kind == ConfigValue::Kind::kScalar && !value.scalar.empty(); }

// "source: text" or a list of texts.
std::vector<std::string> read_sources(Section& section) {
  const ConfigValue* value = section.raw("source", "text or list of texts", "required", "where it was published");
  std::vector<std::string> texts;
  bool right = value != nullptr && (is_scalar(*value) || !value->items.empty());
  if (right && is_scalar(*value)) texts.push_back(value->scalar);
  if (right)
    for (const ConfigValue& item : value->items) {
      right = right && is_scalar(item);
      texts.push_back(item.scalar);
    }
  if (!right)
    section.error("source", value == nullptr ? "'source' is missing" : "'source' must be a text or a list of texts");
  return texts;
}

// A map of texts.
Texts read_texts(Section& section, std::string_view key, std::string_view type, std::string_view meaning) {
  const ConfigValue* value = section.raw(key, type, "optional", meaning);
  Texts texts;
  if (value == nullptr) return texts;
  if (value->kind != ConfigValue::Kind::kMap) {
    section.error(key, fmt::format("'{}' is {}; a map of texts is expected", key, kind_name(value->kind)));
    return texts;
  }
  for (const ConfigEntry& entry : value->entries) {
    if (is_scalar(entry.value))
      texts.emplace_back(entry.key, entry.value.scalar);
    else
      section.context().diagnostics().error(entry.value.where, fmt::format("no text stands for '{}'", entry.key));
  }
  return texts;
}

void read_origin(Section& section, TrainingTable& table) {
  table.name = read_words(section, "table", "its name, which no other table has");
  table.where = section.where("table");
  section.takes(
      "collection", table.collection, kTrainingCollections,
      "first: runs of 2019 to 2023 and what is like them, second: runs of 2024 to 2026, third: runs of 2023 to "
      "2026 that were gathered after those; totals are of each");
  table.family = section.optional<std::string>(
      "family", table.name, "tables of one family are summed up, and left out, together", "the table's name");
  table.title =
      printable(section.maybe<std::string>("title", "how results call the family; by default its name").value_or(""));
  table.source = read_sources(section);
  table.measured = read_words(section, "measured", "the machine, in the words of the source");
  section.needs("figure", table.figure, kFigures,
                "what was published of a row; time: of an iteration, in seconds; hardware_tflops_per_gpu: by SC'21's "
                "formula, which counts recomputation");
}

void read_scoring(Section& section, TrainingTable& table) {
  section.takes("scored", table.scored, "whether Orrery's error on it counts");
  section.takes("fit", table.fit, "whether constants of the software are fitted to it");
  section.accepts("why_not", table.why_not, "why it does not count");
  check_scoring(section, table.scored, table.why_not);
}

const ConfigValue* read_shared_experiment(Section& section, const TrainingTable& table) {
  const ConfigValue* shared =
      section.raw("experiment", "map", "required if scored", "what all rows share, as an experiment has it");
  if (shared == nullptr && table.scored)
    section.error("", "a table that is scored has no 'experiment'", "the keys are those of docs/config.md");
  if (shared == nullptr || shared->kind == ConfigValue::Kind::kMap) return shared;
  section.error("experiment", fmt::format("'experiment' is {}; a map is expected", kind_name(shared->kind)));
  return nullptr;
}

void read_columns(Section& section, TrainingTable& table) {
  table.columns = section.words("columns", "keys of the experiment, as in --set, that the values of a row stand for");
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& key = table.columns[i];
    if (key.empty()) section.error("columns", "a column has no key");
    if (std::find(table.columns.begin(), table.columns.begin() + static_cast<std::ptrdiff_t>(i), key) !=
        table.columns.begin() + static_cast<std::ptrdiff_t>(i))
      section.error("columns", fmt::format("'{}' stands twice", printable(key, 40)));
  }
}

// A number above 0.
std::optional<double> read_figure(const ConfigValue& value) {
  if (!is_scalar(value) || value.scalar.ends_with('%')) return std::nullopt;
  const std::optional<double> figure = parse_share(value.scalar).value;
  return figure && std::isfinite(*figure) && *figure > 0 ? figure : std::nullopt;
}

bool is_same(const Problem& one, const Problem& other) {
  return one.where.file == other.where.file && one.where.line == other.where.line &&
         one.where.column == other.where.column && one.message == other.message;
}

// Problems of the shared experiment are found again in every row, and told once.
void add_new(const Diagnostics& found, Diagnostics& diagnostics) {
  for (const Problem& problem : found.problems())
    if (std::ranges::none_of(diagnostics.problems(), [&](const Problem& known) { return is_same(known, problem); }))
      diagnostics.error(problem.where, problem.message, problem.hint);
}

std::string columns_text(const TrainingTable& table) {
  return table.columns.size() == 1 ? "is 1 column" : fmt::format("are {} columns", table.columns.size());
}

// "[label, values of the columns, figure]"; nothing after an error.
std::optional<TrainingRow> read_row(const ConfigValue& item, const TrainingTable& table, const ConfigValue* shared,
                                    const ConfigFiles& files, Diagnostics& diagnostics) {
  const std::size_t wanted = table.columns.size() + 2;
  if (item.kind != ConfigValue::Kind::kList || item.items.size() != wanted) {
    const bool list = item.kind == ConfigValue::Kind::kList;
    diagnostics.error(item.where,
                      list ? fmt::format("a row of {} values, but there {}", item.items.size(), columns_text(table))
                           : fmt::format("a row is {}; a list is expected", kind_name(item.kind)),
                      fmt::format("a label, a value for each column, and the figure: {} values", wanted));
    return std::nullopt;
  }
  const std::size_t errors = diagnostics.error_count();
  TrainingRow row{item.items.front().scalar, item.where, {}, 0, item.items.back().where, {}, {}, {}};
  if (!is_scalar(item.items.front())) diagnostics.error(item.items.front().where, "the label of a row is not a text");
  const std::optional<double> figure = read_figure(item.items.back());
  if (!figure)
    diagnostics.error(row.figure_at, fmt::format("invalid figure '{}'", printable(item.items.back().scalar, 40)),
                      fmt::format("a number above 0, without a unit: {}", name_of(table.figure)));
  row.figure = figure.value_or(1);
  if (shared != nullptr) {
    row.experiment = *shared;
    auto value = std::next(item.items.begin());
    Diagnostics of_row;
    for (const std::string& column : table.columns) set_value(row.experiment, column, *value++, files, of_row);
    add_new(of_row, diagnostics);
  }
  row.label = printable(row.label);
  if (errors < diagnostics.error_count()) return std::nullopt;
  return row;
}

void read_rows(Section& section, const ConfigValue* shared, TrainingTable& table) {
  Diagnostics& diagnostics = section.context().diagnostics();
  const auto read = [&](const ConfigValue& item) {
    std::optional<TrainingRow> row = read_row(item, table, shared, section.context().files(), diagnostics);
    if (!row) return;
    if (std::ranges::find(table.rows, row->label, &TrainingRow::label) != table.rows.end())
      diagnostics.error(item.where, fmt::format("two rows are labelled '{}'", printable(row->label, 40)));
    table.rows.push_back(std::move(*row));
  };
  study::read_rows(section, "[label, value of each column, figure]",
                   "what was published; a value may be a map or a list", read);
}

// Reads a map of rows by label.
template <class Take>
void read_by_label(Section& section, const char* key, const char* kind, const char* meaning, TrainingTable& table,
                   Take&& take) {
  std::vector<std::string> labels;
  for (const TrainingRow& row : table.rows) labels.push_back(row.label);
  for (auto& [label, text] : read_texts(section, key, kind, meaning)) {
    const auto row = std::ranges::find(table.rows, label, &TrainingRow::label);
    if (row == table.rows.end())
      section.error(key, fmt::format("no row is labelled '{}'", printable(label, 40)), suggestion(label, labels));
    else
      take(*row, text);
  }
}

void read_memory(Section& section, TrainingTable& table) {
  read_by_label(section, "memory", "map of sizes",
                "by label, the most memory of a device that was in use, as its tools or the allocator show it", table,
                [&](TrainingRow& row, const std::string& text) {
                  row.memory = parse_quantity<Bytes>(text).value;
                  if (!row.memory || *row.memory <= Bytes(0))
                    section.error("memory", fmt::format("invalid size '{}'", printable(text, 40)), "as in 47 GiB");
                });
}

void read_allocated(Section& section, TrainingTable& table) {
  section.takes("allocated_on", table.allocated_on, {"fullest", "last"},
                "with `allocated`: the rank it is of; last: of the last pipeline stage");
  section.map("allocated", "ROW", "by label, what the framework's allocator had handed out on one rank",
              [&](const ConfigEntry& of_row, Section& s) {
                AllocatedMemory allocated;
                s.takes("rest", allocated.rest, "bytes behind the optimizer's step");
                s.takes("peak", allocated.peak, "the most bytes since the start");
                const auto row = std::ranges::find(table.rows, of_row.key, &TrainingRow::label);
                if (row == table.rows.end())
                  s.error("", fmt::format("no row is labelled '{}'", printable(of_row.key, 40)));
                else
                  row->allocated = allocated;
              });
}

void read_misses(Section& section, TrainingTable& table) {
  read_by_label(section, "misses", "map of texts", "by label, why the prediction of a row is far off", table,
                [](TrainingRow& row, const std::string& text) { row.miss = text; });
}

// The name of the cluster, where it is one for all rows.
std::string cluster_of(const ConfigValue* shared, const TrainingTable& table) {
  const ConfigEntry* cluster = shared == nullptr ? nullptr : shared->find("cluster");
  const bool differs = std::ranges::find(table.columns, "cluster") != table.columns.end();
  return cluster == nullptr || differs ? std::string() : cluster->value.scalar;
}

}  // namespace

std::string_view name_of(TrainingFigure figure) { return kFigures[static_cast<std::size_t>(figure)]; }

std::string_view name_of(TrainingCollection collection) {
  return kTrainingCollections[static_cast<std::size_t>(collection)];
}

double hardware_flops(const workload::TransformerSpec& model, std::int64_t global_batch) {
  const auto s = static_cast<double>(model.sequence);
  const auto l = static_cast<double>(model.layers);
  const auto h = static_cast<double>(model.hidden);
  const auto vocabulary = static_cast<double>(model.vocab);
  return 96 * static_cast<double>(global_batch) * s * l * h * h * (1 + s / (6 * h) + vocabulary / (16 * l * h));
}

double iteration_seconds(TrainingFigure figure, double published, const workload::TrainingSpec& training) {
  const auto gpus = static_cast<double>(training.parallel.workers());
  switch (figure) {
    case TrainingFigure::kTime:
      return published;
    case TrainingFigure::kTokensPerGpu:
      return static_cast<double>(workload::tokens_per_step(training)) / (gpus * published);
    case TrainingFigure::kSamples:
      return static_cast<double>(training.global_batch) / published;
    case TrainingFigure::kSamplesPerGpu:
      return static_cast<double>(training.global_batch) / (gpus * published);
    case TrainingFigure::kHardwareTflops:
      ORRERY_ASSERT(training.transformer() != nullptr);
      return hardware_flops(*training.transformer(), training.global_batch) / (gpus * published * 1e12);
    case TrainingFigure::kModelTflops:
      break;
  }
  return workload::model_flops(training) / (gpus * published * 1e12);
}

void read_table(Section& section, TrainingTable& table) {
  read_origin(section, table);
  read_scoring(section, table);
  const ConfigValue* shared = read_shared_experiment(section, table);
  read_columns(section, table);
  table.cluster = cluster_of(shared, table);
  table.assumed = read_texts(section, "assumed", "map of texts",
                             "by key of the experiment, why that was chosen which the source leaves open");
  read_rows(section, shared, table);
  read_memory(section, table);
  read_allocated(section, table);
  read_misses(section, table);
}

// Tables of a family are of one collection, and need not all repeat its title, but none may give another one.
void check_together(std::vector<TrainingTable>& tables, Diagnostics& diagnostics) {
  std::map<std::string, const TrainingTable*> titled;
  std::map<std::string, const TrainingTable*> collected;
  for (const TrainingTable& table : tables) {
    const TrainingTable& known = *collected.try_emplace(table.family, &table).first->second;
    if (known.collection != table.collection)
      diagnostics.error(table.where, fmt::format("family '{}' is in two collections", printable(table.family)),
                        fmt::format("in {} it is in the {} one", known.where.file, name_of(known.collection)));
    if (table.title.empty()) continue;
    const auto [first, added] = titled.try_emplace(table.family, &table);
    if (!added && first->second->title != table.title)
      diagnostics.error(table.where, fmt::format("family '{}' has two titles", printable(table.family)),
                        fmt::format("in {} it is '{}'", first->second->where.file, printable(first->second->title)));
  }
  std::map<std::string, std::string> titles;
  for (const auto& [family, table] : titled) titles[family] = table->title;
  for (TrainingTable& table : tables) table.title = titles.contains(table.family) ? titles[table.family] : table.family;
}

}  // namespace orrery::study
