// SPDX-License-Identifier: MIT
#include "system/devices/kernel_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/csv_lines.h"
#include "core/config/quantity_text.h"
#include "core/files/read_file.h"
#include "core/suggest.h"
#include "workload/chakra/file.h"

namespace orrery::system {
namespace {

constexpr std::int64_t kMost = 1 << 26;  // of a side of a matrix: its bytes fit 64 bits
constexpr std::int64_t kMostExperts = 1 << 16;
constexpr std::string_view kTime = "latency_us";
constexpr Duration kLongest = std::chrono::hours(1);
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // as spreadsheets write it

struct Format {
  std::string_view name;  // as in the column dtype
  std::string_view text;
  Precision precision;
  workload::Scaling scaling = workload::Scaling::kTensor;
};
constexpr std::array<Format, 8> kFormats = {{
    {"bfloat16", "bf16", Precision::kBf16},
    {"float16", "fp16", Precision::kFp16},
    {"bf16", "bf16", Precision::kBf16},
    {"fp16", "fp16", Precision::kFp16},
    {"fp8", "fp8", Precision::kFp8},
    {"fp8_block", "fp8-block", Precision::kFp8, workload::Scaling::kBlock},
    {"nvfp4", "nvfp4", Precision::kFp8, workload::Scaling::kNvfp4},
    {"int8", "int8", Precision::kInt8},
}};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

// The cells of a row by the names of their columns.
class Row {
 public:
  Row(const std::vector<std::string>& columns, const CsvLine& line, const std::string& name, Diagnostics& diagnostics)
      : columns_(columns), line_(line), cells_(line.cells()), name_(name), diagnostics_(diagnostics) {}

  bool is_whole() const { return cells_.size() == columns_.size(); }
  std::size_t size() const { return cells_.size(); }

  bool has(std::string_view column) const { return std::ranges::find(columns_, column) != columns_.end(); }

  CsvCell cell(std::string_view column) const {
    const auto found = std::ranges::find(columns_, column);
    ORRERY_ASSERT(found != columns_.end());
    return cells_[static_cast<std::size_t>(found - columns_.begin())];
  }

  void error(std::string_view column, std::string message, std::string hint = {}) const {
    diagnostics_.error({name_, line_.number, cell(column).column}, std::move(message), std::move(hint));
  }

  std::int64_t whole(std::string_view column) const {
    const std::optional<std::int64_t> value = parse_whole_number(cell(column).text);
    if (value && *value >= 1 && *value <= kMost) return *value;
    error(column,
          fmt::format("{} '{}' is not a whole number from 1 to {}", column, printable(cell(column).text, 40), kMost));
    return 1;
  }

  const Format& format() const {
    const auto found = std::ranges::find(kFormats, cell("dtype").text, &Format::name);
    if (found != kFormats.end()) return *found;
    error("dtype", fmt::format("dtype '{}' is not known", printable(cell("dtype").text, 40)),
          suggestion(cell("dtype").text, format_names()));
    return kFormats.front();
  }

  // Position of the cell's text in `words`.
  std::size_t one_of(std::string_view column, std::span<const std::string_view> words) const {
    const auto found = std::ranges::find(words, cell(column).text);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    error(column, fmt::format("{} '{}' is not known", column, printable(cell(column).text, 40)),
          fmt::format("one of {}", fmt::join(words, ", ")));
    return 0;
  }

  Duration time() const {
    const Parsed<Duration> time = parse_quantity<Duration>(std::string(cell(kTime).text) + " us");
    if (time.value && *time.value > Duration::zero() && *time.value <= kLongest) return *time.value;
    error(kTime, fmt::format("{} '{}' is not a time in microseconds", kTime, printable(cell(kTime).text, 40)),
          "a number above 0 without a unit, at most an hour");
    return Duration(1);
  }

 private:
  const std::vector<std::string>& columns_;
  const CsvLine& line_;
  std::vector<CsvCell> cells_;
  const std::string& name_;
  Diagnostics& diagnostics_;
};

// Traffic of a value of a result in the format of a column: read and written where the kernel adds to it.
Bytes result_of(const Row& row, std::string_view column) {
  constexpr std::array<std::string_view, 3> kNames = {"fp32", "bf16", "fp16"};
  constexpr std::array<std::string_view, 4> kFlags = {"False", "True", "false", "true"};
  const Bytes size = size_of(row.one_of(column, kNames) == 0 ? Precision::kFp32 : Precision::kBf16);
  const bool adds = row.has("accumulate") && row.one_of("accumulate", kFlags) % 2 == 1;
  return adds ? size * 2 : size;
}

// Columns that a kind of kernels may have besides its own.
constexpr std::array<std::string_view, 6> kOptionalColumns = {"layout",          "accumulate", "out_dtype",
                                                              "main_grad_dtype", "pass",       "v_head_dim"};

constexpr std::array<workload::ProductStage, 3> kStages = {
    workload::ProductStage::kForward, workload::ProductStage::kInputGradient, workload::ProductStage::kWeightGradient};

// Products of training say by the layout of their operands which stage of a linear layer they are.
KernelSample read_product(const Row& row) {
  constexpr std::array<std::string_view, 3> kLayouts = {"TN", "NN", "NT"};
  const Format& format = row.format();
  workload::Gemm product{row.whole("m"), row.whole("n"), row.whole("k"), 1, format.precision};
  product.scaling = format.scaling;
  std::string kind = fmt::format("gemm {}", format.text);
  if (row.has("layout")) {
    product.stage = kStages[row.one_of("layout", kLayouts)];
    kind += fmt::format(" {}", name_of(product.stage));
  }
  if (row.has("out_dtype")) product.result = result_of(row, "out_dtype");
  return {{}, std::move(kind), fmt::format("{}x{}x{}", product.m, product.n, product.k), product.m, product, {}};
}

// Sizes are those of the forward product of one expert, whatever the stage.
KernelSample read_grouped(const Row& row) {
  constexpr std::array<std::string_view, 3> kNames = {"fwd", "bwd_grad_act", "bwd_grad_w"};
  const Format& format = row.format();
  const std::int64_t groups = row.whole("groups"), rows = row.whole("m_per_group");
  const std::int64_t n = row.whole("n"), k = row.whole("k");
  const workload::ProductStage stage = kStages[row.one_of("stage", kNames)];
  workload::Gemm product{rows, n, k, groups, format.precision};
  if (stage == workload::ProductStage::kInputGradient) std::swap(product.n, product.k);
  if (stage == workload::ProductStage::kWeightGradient) {
    std::swap(product.m, product.k);
    if (row.has("main_grad_dtype")) product.result = result_of(row, "main_grad_dtype");
  }
  product.scaling = format.scaling;
  product.stage = stage;
  product.grouped = true;
  return {{},
          fmt::format("grouped {} {}", format.text, name_of(stage)),
          fmt::format("{} of {}x{}x{}", groups, rows, n, k),
          rows,
          product,
          {}};
}

// Causal, of whole sequences; as many heads of keys and values as of queries where the row has 0.
KernelSample read_attention(const Row& row) {
  const Format& format = row.format();
  const std::int64_t heads = row.whole("heads"), length = row.whole("isl"), size = row.whole("head_dim");
  const std::int64_t shared = row.cell("kv_heads").text == "0" ? heads : row.whole("kv_heads");
  constexpr std::array<std::string_view, 2> kPasses = {"fwd", "bwd"};
  const bool backward = row.has("pass") && row.one_of("pass", kPasses) == 1;
  const std::int64_t padded = row.has("v_head_dim") ? std::max(size, row.whole("v_head_dim")) : size;
  workload::FlashAttention attention{
      row.whole("batch") * heads, length, length, padded, true, backward, format.precision};
  attention.group = std::max<std::int64_t>(1, heads / shared);
  if (heads % shared != 0)
    row.error("kv_heads", fmt::format("{} heads of queries are not a multiple of {} of keys", heads, shared));
  return {{},
          fmt::format("attention {}{}", format.text,
                      backward          ? " backward"
                      : row.has("pass") ? " forward"
                                        : ""),
          fmt::format("{}x{}, {}/{} heads of {}", row.cell("batch").text, length, heads, shared, size),
          length,
          attention,
          {}};
}

// 0 of "balanced", 1.2 of "power_law_1.2".
double exponent_of(const Row& row) {
  constexpr std::string_view kPowerLaw = "power_law_";
  const std::string_view text = row.cell("distribution").text;
  if (text == "balanced") return 0;
  if (text.starts_with(kPowerLaw)) {
    const std::string number(text.substr(kPowerLaw.size()));
    char* end = nullptr;
    const double exponent = std::strtod(number.c_str(), &end);
    if (!number.empty() && *end == '\0' && exponent > 0 && exponent <= 10) return exponent;
  }
  row.error("distribution", fmt::format("distribution '{}' is not known", printable(text, 40)),
            "balanced, or power_law_ and an exponent above 0, at most 10");
  return 0;
}

KernelSample read_experts(const Row& row) {
  const Format& format = row.format();
  const std::int64_t experts = row.whole("experts"), ranks = row.whole("ep"), tensor = row.whole("tp");
  const std::int64_t inner = row.whole("inter"), per_token = row.whole("topk");
  workload::FusedExperts fused{row.whole("tokens"),
                               row.whole("hidden"),
                               std::max<std::int64_t>(1, inner / tensor),
                               per_token,
                               row.cell("kernel").text.find("nongated") == std::string_view::npos,
                               format.precision,
                               format.scaling,
                               {}};
  const double exponent = exponent_of(row);
  const bool shared = experts % ranks == 0, fit = experts <= kMostExperts, enough = per_token <= experts;
  if (!shared) row.error("ep", fmt::format("{} ranks cannot share {} experts", ranks, experts));
  if (!fit) row.error("experts", fmt::format("{} experts; at most {}", experts, kMostExperts));
  if (!enough) row.error("topk", fmt::format("{} of {} experts", per_token, experts));
  if (shared && fit && enough) fused.rows = expert_rows(fused.tokens, per_token, experts, ranks, exponent);
  std::string at = fmt::format("{} tokens {}, {}x{}, {} of {} experts, ep {}", fused.tokens,
                               row.cell("distribution").text, fused.hidden, fused.inner, per_token, experts, ranks);
  const std::int64_t tokens = fused.tokens;
  return {{}, fmt::format("experts {}", format.text), std::move(at), tokens, std::move(fused), {}};
}

// Kind of kernel table with these columns.
struct Kind {
  std::vector<std::string_view> columns;
  KernelSample (*read)(const Row&);
};
const std::array<Kind, 4>& kinds() {
  static const std::array<Kind, 4> kinds = {
      {{{"dtype", "m", "n", "k", kTime}, read_product},
       {{"dtype", "groups", "m_per_group", "n", "k", "stage", kTime}, read_grouped},
       {{"dtype", "batch", "isl", "heads", "kv_heads", "head_dim", kTime}, read_attention},
       {{"dtype", "kernel", "tokens", "hidden", "inter", "topk", "experts", "tp", "ep", "distribution", kTime},
        read_experts}}};
  return kinds;
}

const Kind* kind_of(const std::vector<std::string>& columns) {
  const auto has = [&](std::string_view column) { return std::ranges::find(columns, column) != columns.end(); };
  const auto found = std::ranges::find_if(kinds(), [&](const Kind& k) { return std::ranges::all_of(k.columns, has); });
  return found == kinds().end() ? nullptr : &*found;
}

std::vector<std::string> columns_of(const std::optional<CsvLine>& heading) {
  std::vector<std::string> columns;
  if (heading)
    for (const CsvCell& cell : heading->cells()) columns.emplace_back(cell.text);
  return columns;
}

// Shares of experts at the quantiles of the power law, from the least to the largest, in rows.
std::vector<double> power_law(double tokens, double per_token, std::size_t experts, double exponent) {
  const bool few = tokens * per_token <= static_cast<double>(experts);
  const double least = few ? 0.01 : 1, most = few ? 2 : 0.8 * tokens;
  const double power = exponent == 1 ? 1e-9 : 1 - exponent;
  const double low = std::pow(least, power), high = std::pow(most, power);
  std::vector<double> rows(experts);
  for (std::size_t i = 0; i < experts; ++i)
    rows[i] = std::pow(low + (high - low) * (static_cast<double>(i) + 0.5) / static_cast<double>(experts), 1 / power);
  const double scale = tokens * per_token / std::accumulate(rows.begin(), rows.end(), 0.0);
  for (double& row : rows) row *= scale;
  return rows;
}

// The group of `own` rows that follow one another whose sum is largest.
std::vector<double> busiest_group(const std::vector<double>& rows, std::size_t own) {
  std::vector<double> busiest;
  double most = -1;
  for (std::size_t first = 0; first < rows.size(); first += own) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(own);
    const double sum = std::accumulate(begin, end, 0.0);
    if (sum > most) busiest.assign(begin, end);
    most = std::max(most, sum);
  }
  return busiest;
}

}  // namespace

std::vector<double> expert_rows(std::int64_t tokens, std::int64_t per_token, std::int64_t experts, std::int64_t ranks,
                                double exponent) {
  const auto own = static_cast<std::size_t>(experts / ranks);
  const double all = static_cast<double>(tokens), chosen = all * static_cast<double>(per_token);
  if (exponent == 0) {
    const double each = chosen / static_cast<double>(experts);
    if (each >= 1) return std::vector<double>(own, each);
    return std::vector<double>(static_cast<std::size_t>(std::ceil(chosen / static_cast<double>(ranks))), 1);
  }
  std::vector<double> rows =
      power_law(all, static_cast<double>(per_token), static_cast<std::size_t>(experts), exponent);
  double merged = 0;  // an expert cannot have a token twice: what is left goes to the busiest rank, as it was measured
  for (const double row : rows) merged += std::max(0.0, row - all);
  std::mt19937 order(1);
  for (std::size_t i = rows.size() - 1; i > 0; --i) std::swap(rows[i], rows[order() % (i + 1)]);
  std::vector<double> busiest = busiest_group(rows, own);
  std::erase_if(busiest, [](double row) { return row < 0.5; });
  if (busiest.empty()) busiest.push_back(1);
  for (double& row : busiest) row = std::min(all, std::min(all, row) + merged / static_cast<double>(busiest.size()));
  std::ranges::sort(busiest, std::greater());
  return busiest;
}

namespace {

// Columns that nobody reads may have any name but one that looks like a slip in a known one.
void check_columns(const std::vector<std::string>& columns, const Location& where, Diagnostics& diagnostics) {
  std::vector<std::string> known(kOptionalColumns.begin(), kOptionalColumns.end());
  for (const Kind& kind : kinds()) known.insert(known.end(), kind.columns.begin(), kind.columns.end());
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if (column->empty()) continue;
    if (std::find(columns.begin(), column, *column) != column)
      diagnostics.error(where, fmt::format("two columns are called '{}'", printable(*column, 40)));
    const std::string near = column->size() > 2 ? nearest_name(*column, known) : std::string();
    if (!near.empty() && near != *column && std::ranges::find(columns, near) == columns.end())
      diagnostics.error(where, fmt::format("unknown column '{}'", printable(*column, 40)),
                        fmt::format("did you mean '{}'?", near));
  }
}

}  // namespace

bool is_kernel_csv(std::string_view text) {
  CsvLines lines(text);
  return kind_of(columns_of(lines.next())) != nullptr;
}

std::vector<KernelSample> read_kernel_csv(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvLines lines(text);
  const std::optional<CsvLine> heading = lines.next();
  const std::vector<std::string> columns = columns_of(heading);
  std::vector<KernelSample> samples;
  if (!heading) {
    diagnostics.error({name}, "the file has no lines", "names of columns, and a row for each kernel");
    return samples;
  }
  const Kind* kind = kind_of(columns);
  if (kind == nullptr) {
    std::vector<std::string> known;
    for (const Kind& k : kinds()) known.push_back(fmt::format("{}", fmt::join(k.columns, ",")));
    diagnostics.error({name, 1, 1}, "the columns are those of no kind of kernels",
                      fmt::format("the first line names at least {}", fmt::join(known, "; or ")));
    return samples;
  }
  const std::size_t errors = diagnostics.error_count();
  check_columns(columns, {name, heading->number}, diagnostics);
  while (const auto line = lines.next()) {
    const Row row(columns, *line, name, diagnostics);
    const std::size_t before = diagnostics.error_count();
    if (!row.is_whole()) {
      diagnostics.error({name, line->number, 1},
                        fmt::format("{} cells; expected {}, one for each column", row.size(), columns.size()));
      continue;
    }
    KernelSample sample = kind->read(row);
    sample.where = {name, line->number};
    sample.measured = row.time();
    if (diagnostics.error_count() == before) samples.push_back(std::move(sample));
  }
  if (samples.empty() && errors == diagnostics.error_count())
    diagnostics.error({name, 1}, "no rows under the names of the columns");
  return samples;
}

std::vector<KernelSample> read_kernel_files(Section& section, std::string_view key, std::string_view meaning) {
  Diagnostics& diagnostics = section.context().diagnostics();
  std::vector<KernelSample> all;
  std::set<std::string> read;
  for (const std::string& word : section.words(key, meaning)) {
    if (word.empty()) {
      section.error(key, fmt::format("'{}' has a file without a name", key));
      continue;
    }
    const std::string file = section.path(key, word);
    if (!read.insert(std::filesystem::path(file).lexically_normal().string()).second) {
      section.error(key, fmt::format("'{}' is there twice", printable(word, 120)), "each table counts once");
      continue;
    }
    try {
      std::string text = read_file(file);
      if (workload::is_gzip(text)) text = workload::inflate_gzip(file, text);
      drop_byte_order_mark(file, text);
      const std::vector<KernelSample> samples = read_kernel_csv(text, file, diagnostics);
      all.insert(all.end(), samples.begin(), samples.end());
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) diagnostics.error(problem.where, problem.message, problem.hint);
    }
  }
  return all;
}

}  // namespace orrery::system
