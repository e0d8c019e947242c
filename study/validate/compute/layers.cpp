// SPDX-License-Identifier: MIT
#include "study/validate/compute/layers.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/csv_lines.h"
#include "core/config/quantity_text.h"
#include "core/suggest.h"

namespace orrery::study {
namespace {

struct IntegerColumn {
  std::string_view name;
  std::int64_t LayerSample::*value;
  std::int64_t most;
};

constexpr std::array<IntegerColumn, 6> kIntegers = {{
    {"n_head", &LayerSample::heads, 1 << 16},
    {"n_kv_head", &LayerSample::key_value_heads, 1 << 16},
    {"hidden", &LayerSample::hidden, 1 << 20},
    {"ffn_hidden", &LayerSample::feed_forward, 1 << 24},
    {"num_tokens", &LayerSample::tokens, 1 << 26},
    {"tp", &LayerSample::tensor_parallel, 1 << 12},
}};

constexpr std::string_view kGated = "gated_mlp";
constexpr std::array<std::string_view, 3> kOptional = {"gpu", "model", "vocab"};

// Columns of times by LayerColumn.
struct TimeColumn {
  std::string_view name;
  LayerOperator what;
};
constexpr std::array<TimeColumn, kLayerColumnCount> kTimes = {{{"emb_us", LayerOperator::kEmbedding},
                                                               {"input_layernorm_us", LayerOperator::kNorm},
                                                               {"attn_pre_proj_us", LayerOperator::kQkv},
                                                               {"attn_rope_us", LayerOperator::kRotary},
                                                               {"attn_post_proj_us", LayerOperator::kAttentionOutput},
                                                               {"post_attention_layernorm_us", LayerOperator::kNorm},
                                                               {"mlp_up_proj_us", LayerOperator::kMlpUp},
                                                               {"mlp_act_us", LayerOperator::kActivation},
                                                               {"mlp_down_proj_us", LayerOperator::kMlpDown},
                                                               {"add_us", LayerOperator::kAdd}}};

std::vector<std::string> time_names() {
  std::vector<std::string> names;
  for (const TimeColumn& column : kTimes) names.emplace_back(column.name);
  return names;
}

std::vector<std::string> column_names() {
  std::vector<std::string> names(kOptional.begin(), kOptional.end());
  for (const IntegerColumn& column : kIntegers) names.emplace_back(column.name);
  names.emplace_back(kGated);
  for (const TimeColumn& column : kTimes) names.emplace_back(column.name);
  return names;
}

class Reading {
 public:
  Reading(const std::string& name, Diagnostics& diagnostics) : name_(name), diagnostics_(&diagnostics) {}

  // Reads the heading; true if rows can be read under it.
  bool read_heading(const CsvLine& line) {
    const std::vector<std::string> known = column_names();
    const std::size_t errors = diagnostics_->error_count();
    for (const CsvCell& cell : line.cells()) {
      if (std::ranges::find(known, cell.text) == known.end())
        error(line, cell, fmt::format("column '{}' is not known", printable(cell.text, 40)),
              suggestion(cell.text, known));
      else if (std::ranges::find(columns_, cell.text) != columns_.end())
        error(line, cell, fmt::format("column '{}' stands twice", cell.text));
      columns_.emplace_back(cell.text);
    }
    if (errors < diagnostics_->error_count()) return false;
    for (const IntegerColumn& column : kIntegers) require(line, column.name);
    require(line, kGated);
    if (std::ranges::none_of(kTimes, [&](const TimeColumn& time) { return has(time.name); }))
      diagnostics_->error({name_, line.number, 1}, "no column of times",
                          fmt::format("at least one of {}", fmt::join(time_names(), ", ")));
    return errors == diagnostics_->error_count();
  }

  std::optional<LayerSample> read_row(const CsvLine& line) {
    const std::vector<CsvCell> cells = line.cells();
    if (cells.size() != columns_.size()) {
      diagnostics_->error({name_, line.number, cells.back().column},
                          fmt::format("{} cells; expected {}, one for each column", cells.size(), columns_.size()));
      return std::nullopt;
    }
    const std::size_t errors = diagnostics_->error_count();
    LayerSample sample;
    sample.line = line.number;
    for (std::size_t i = 0; i < cells.size(); ++i) read_cell(line, columns_[i], cells[i], sample);
    if (errors == diagnostics_->error_count()) check_shape(line, cells, sample);
    if (errors < diagnostics_->error_count()) return std::nullopt;
    return sample;
  }

 private:
  bool has(std::string_view column) const { return std::ranges::find(columns_, column) != columns_.end(); }

  void error(const CsvLine& line, const CsvCell& cell, std::string message, std::string hint = {}) {
    diagnostics_->error({name_, line.number, cell.column}, std::move(message), std::move(hint));
  }

  void require(const CsvLine& line, std::string_view column) {
    if (!has(column))
      diagnostics_->error({name_, line.number, 1}, fmt::format("column '{}' is missing", column),
                          "the columns are those of configs/validation/compute/layers-a100.csv");
  }

  void read_cell(const CsvLine& line, const std::string& column, const CsvCell& cell, LayerSample& sample) {
    if (column == "gpu") {
      sample.gpu = cell.text;
      sample.gpu_at = {name_, line.number, cell.column};
    } else if (column == "model") {
      sample.model = cell.text;
    } else if (column == kGated) {
      read_gated(line, cell, sample);
    } else if (const auto integer = std::ranges::find(kIntegers, column, &IntegerColumn::name);
               integer != kIntegers.end()) {
      read_integer(line, *integer, cell, sample);
    } else if (const auto time = std::ranges::find(kTimes, column, &TimeColumn::name); time != kTimes.end()) {
      read_time(line, static_cast<std::size_t>(time - kTimes.begin()), cell, sample);
    }
  }

  void read_gated(const CsvLine& line, const CsvCell& cell, LayerSample& sample) {
    const bool yes = cell.text == "True" || cell.text == "true";
    if (!yes && cell.text != "False" && cell.text != "false")
      error(line, cell, fmt::format("{} '{}' is neither True nor False", kGated, printable(cell.text, 40)));
    sample.gated = yes;
  }

  void read_integer(const CsvLine& line, const IntegerColumn& column, const CsvCell& cell, LayerSample& sample) {
    const std::optional<std::int64_t> value = parse_whole_number(cell.text);
    if (value && *value >= 1 && *value <= column.most)
      sample.*column.value = *value;
    else
      error(line, cell,
            fmt::format("{} '{}' is not a whole number from 1 to {}", column.name, printable(cell.text, 40),
                        column.most));
  }

  void read_time(const CsvLine& line, std::size_t column, const CsvCell& cell, LayerSample& sample) {
    if (cell.text.empty()) return;
    const Parsed<Duration> time = parse_quantity<Duration>(std::string(cell.text) + " us");
    if (time.value && *time.value > Duration::zero())
      sample.times[column] = time.value;
    else
      error(line, cell,
            fmt::format("{} '{}' is not a time in microseconds", kTimes[column].name, printable(cell.text, 40)),
            "a number above 0, without a unit, or nothing");
  }

  void check_shape(const CsvLine& line, const std::vector<CsvCell>& cells, const LayerSample& sample) {
    const auto at = [&](std::string_view column) {
      return cells[static_cast<std::size_t>(std::ranges::find(columns_, column) - columns_.begin())];
    };
    if (sample.hidden % sample.heads != 0)
      error(line, at("hidden"), fmt::format("hidden {} is not a multiple of {} heads", sample.hidden, sample.heads));
    if (sample.heads % sample.tensor_parallel != 0)
      error(line, at("tp"), fmt::format("{} heads cannot be shared by {} ranks", sample.heads, sample.tensor_parallel));
    if (sample.feed_forward % sample.tensor_parallel != 0)
      error(line, at("tp"),
            fmt::format("{} columns of the perceptron cannot be shared by {} ranks", sample.feed_forward,
                        sample.tensor_parallel));
    if (sample.key_value_heads > sample.heads)
      error(line, at("n_kv_head"),
            fmt::format("{} heads of keys and values, but {} of queries", sample.key_value_heads, sample.heads));
    else if (sample.heads % sample.key_value_heads != 0)
      error(
          line, at("n_kv_head"),
          fmt::format("{} heads of queries cannot share {} of keys and values", sample.heads, sample.key_value_heads));
    else if (sample.key_value_heads % sample.tensor_parallel != 0 &&
             sample.tensor_parallel % sample.key_value_heads != 0)
      error(line, at("tp"),
            fmt::format("{} heads of keys and values neither divide among {} ranks nor repeat evenly",
                        sample.key_value_heads, sample.tensor_parallel));
  }

  const std::string& name_;
  Diagnostics* diagnostics_;
  std::vector<std::string> columns_;
};

constexpr std::array<std::string_view, kLayerOperatorCount> kNames = {
    "qkv", "attention output", "mlp up", "mlp down", "embedding", "norm", "rotary", "activation", "add"};

// Per tensor-parallel rank.
struct RankShape {
  explicit RankShape(const LayerSample& sample)
      : head_size(sample.hidden / sample.heads),
        queries(sample.heads / sample.tensor_parallel * head_size),
        keys(std::max<std::int64_t>(1, sample.key_value_heads / sample.tensor_parallel) * head_size),
        feed_forward(sample.feed_forward / sample.tensor_parallel) {}

  std::int64_t head_size;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t feed_forward;
};

}  // namespace

std::vector<LayerSample> read_layer_csv(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  CsvLines lines(text);
  Reading reading(name, diagnostics);
  const std::optional<CsvLine> heading = lines.next();
  std::vector<LayerSample> samples;
  if (!heading) {
    diagnostics.error({name}, "no table in it",
                      fmt::format("the first line names the columns: {}", fmt::join(column_names(), ",")));
    return samples;
  }
  if (!reading.read_heading(*heading)) return samples;
  const std::size_t errors = diagnostics.error_count();
  while (const auto line = lines.next())
    if (auto sample = reading.read_row(*line)) samples.push_back(std::move(*sample));
  if (samples.empty() && errors == diagnostics.error_count())
    diagnostics.error({name, heading->number}, "no rows under the names of the columns");
  return samples;
}

std::string_view name_of(LayerOperator op) { return kNames[static_cast<std::size_t>(op)]; }

bool is_product(LayerOperator op) { return op <= LayerOperator::kMlpDown; }

LayerOperator operator_of(LayerColumn column) { return kTimes[static_cast<std::size_t>(column)].what; }

workload::Operator layer_operator(const LayerSample& sample, LayerColumn column, Precision precision) {
  const RankShape rank(sample);
  const std::int64_t tokens = sample.tokens;
  const std::int64_t hidden = sample.hidden;
  const std::int64_t up = sample.gated ? 2 * rank.feed_forward : rank.feed_forward;
  const auto product = [&](std::int64_t n, std::int64_t k) { return workload::Gemm{tokens, n, k, 1, precision}; };
  // `numbers` read and written, each once, for every token.
  const auto element_wise = [&](workload::ElementWiseKind kind, std::int64_t numbers) {
    return workload::ElementWise{kind, size_of(precision) * (tokens * numbers)};
  };
  switch (column) {
    case LayerColumn::kEmbedding:
      return element_wise(workload::ElementWiseKind::kEmbedding, 2 * hidden);
    case LayerColumn::kInputNorm:
    case LayerColumn::kPostAttentionNorm:
      return element_wise(workload::ElementWiseKind::kNorm, 2 * hidden);
    case LayerColumn::kAttentionPreProjection:
      return product(rank.queries + 2 * rank.keys, hidden);
    case LayerColumn::kRotary:
      return element_wise(workload::ElementWiseKind::kRotary, 2 * (rank.queries + rank.keys));
    case LayerColumn::kAttentionPostProjection:
      return product(hidden, rank.queries);
    case LayerColumn::kMlpUp:
      return product(up, hidden);
    case LayerColumn::kActivation:
      return element_wise(workload::ElementWiseKind::kActivation, up + rank.feed_forward);
    case LayerColumn::kMlpDown:
      return product(hidden, rank.feed_forward);
    case LayerColumn::kAdd:
      return element_wise(workload::ElementWiseKind::kAdd, 3 * hidden);
  }
  ORRERY_ASSERT(false);
}

}  // namespace orrery::study
