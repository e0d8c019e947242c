// SPDX-License-Identifier: MIT
#include "study/benchmark/shares.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collectives/uneven_exchange.h"
#include "core/config/csv_lines.h"
#include "core/config/quantity_text.h"
#include "core/draw.h"
#include "core/error.h"
#include "core/files/read_file.h"

namespace orrery::study {
namespace {

constexpr std::uint32_t kMostRanks = 1024;  // a message of its own for each pair takes memory
// Limit to the sum of all weights: times the ranks it fits 64 bits.
constexpr std::uint64_t kLargestSum = std::uint64_t{1} << 53;
constexpr double kMostSkew = 4;  // as of parallel.expert_skew
constexpr double kDrawn = 1e8;   // what is drawn is rounded to this part of the largest

// By sender and receiver, row by row.
using Weights = std::vector<std::uint64_t>;

ConfigValue value_at(ConfigValue::Kind kind, Location where, std::string_view text = {}) {
  return {kind, std::move(where), std::string(text), {}, {}};
}

// A line is a list; a file of one line is that one.
ConfigValue read_share_csv(const std::string& path) {
  ConfigValue rows = value_at(ConfigValue::Kind::kList, {path});
  const std::string text = read_text(path);
  CsvLines lines(text);
  while (const std::optional<CsvLine> line = lines.next()) {
    const std::vector<CsvCell> cells = line->cells();
    if (cells.size() > kMostRanks || rows.items.size() == kMostRanks)  // before they take memory
      throw InputError({path, line->number, 1},
                       cells.size() > kMostRanks ? fmt::format("{} in a row", counted(cells.size(), "share"))
                                                 : fmt::format("more than {}", counted(kMostRanks, "row")),
                       fmt::format("shares are of at most {} ranks", kMostRanks));
    ConfigValue& row = rows.items.emplace_back(value_at(ConfigValue::Kind::kList, {path, line->number, 1}));
    for (const CsvCell& cell : cells)
      row.items.push_back(value_at(ConfigValue::Kind::kScalar, {path, line->number, cell.column}, cell.text));
  }
  return rows.items.size() == 1 ? ConfigValue(rows.items.front()) : rows;
}

ConfigValue read_given(const std::string& given, const ConfigFiles& files, Diagnostics& diagnostics) {
  ConfigValue value = parse_option(given, "--shares", diagnostics);
  diagnostics.throw_if_errors();
  if (value.kind == ConfigValue::Kind::kScalar && value.scalar.ends_with(".csv")) return read_share_csv(value.scalar);
  if (value.kind == ConfigValue::Kind::kScalar && looks_like_path(value.scalar))
    value = files.load(value.scalar, {"--shares"}, diagnostics);
  diagnostics.throw_if_errors();
  if (value.kind != ConfigValue::Kind::kList)
    throw InputError(value.where, fmt::format("{} where shares are expected", kind_name(value.kind)),
                     "write a list, [4, 2, 1, 1], a list of such lists, or the name of a .yaml or .csv file with one");
  return value;
}

// In millionths. Not a quantity, which has a unit.
std::optional<std::uint64_t> parse_weight(const ConfigValue& value) {
  const std::string& text = value.scalar;
  if (value.kind != ConfigValue::Kind::kScalar || text.empty()) return std::nullopt;
  if (std::isdigit(static_cast<unsigned char>(text.back())) == 0) return std::nullopt;
  const Parsed<Bytes> millionths = parse_quantity<Bytes>(text + " MB");
  if (!millionths.value) return std::nullopt;
  return static_cast<std::uint64_t>(millionths.value->count());
}

class ShareReader {
 public:
  ShareReader(std::uint32_t ranks, Diagnostics& diagnostics) : ranks_(ranks), diagnostics_(diagnostics) {}

  Weights read(const ConfigValue& value) {
    const bool is_matrix =
        std::ranges::any_of(value.items, [](const ConfigValue& v) { return v.kind == ConfigValue::Kind::kList; });
    if (is_matrix && value.items.size() != ranks_)
      diagnostics_.error(
          value.where, fmt::format("{} of shares for {}", counted(value.items.size(), "row"), counted(ranks_, "rank")),
          "one row for each sender, or a lone one for all of them");
    if (is_matrix)
      for (const ConfigValue& row : value.items) read_row(row);
    else
      read_row(value);
    diagnostics_.throw_if_errors();
    for (std::uint32_t rank = 1; !is_matrix && rank < ranks_; ++rank)
      for (std::uint32_t to = 0; to < ranks_; ++to) weights_.push_back(weights_[to]);
    return std::move(weights_);
  }

 private:
  void read_row(const ConfigValue& row) {
    if (row.kind != ConfigValue::Kind::kList || row.items.size() != ranks_)
      diagnostics_.error(row.where,
                         fmt::format("{} in a row, for {}",
                                     row.kind == ConfigValue::Kind::kList ? counted(row.items.size(), "share")
                                                                          : std::string("no list of shares"),
                                     counted(ranks_, "rank")),
                         "one for each receiver, the sender's own with them");
    for (const ConfigValue& item : row.items) {
      const std::optional<std::uint64_t> weight = parse_weight(item);
      if (!weight)
        diagnostics_.error(item.where, fmt::format("invalid share '{}'", printable(item.scalar, 40)),
                           "write a number of at least 0, without a unit: 3 or 0.25");
      weights_.push_back(weight.value_or(0));
    }
  }

  std::uint32_t ranks_;
  Diagnostics& diagnostics_;
  Weights weights_;
};

// Every sender's buffer goes to the receivers by their popularity.
Weights drawn_weights(const ShareQuestion& question, std::uint32_t ranks) {
  double skew = 0;
  const char* const last = question.skew.data() + question.skew.size();
  const auto [end, code] = std::from_chars(question.skew.data(), last, skew);
  if (code != std::errc{} || end != last || !(skew >= 0 && skew <= kMostSkew))
    throw InputError({"--skew"}, fmt::format("invalid exponent '{}' of Zipf's law", printable(question.skew, 40)),
                     "write a number from 0 (all alike) to 4");
  std::vector<std::uint32_t> place(ranks);
  std::iota(place.begin(), place.end(), 0U);
  if (!question.seed.empty()) {
    const auto seed = parse_whole_number(question.seed);
    if (!seed || *seed < 0)
      throw InputError({"--seed"},
                       fmt::format("'{}' is not a whole number of at least 0", printable(question.seed, 40)));
    place = shuffled(ranks, static_cast<std::uint64_t>(*seed));
  }
  Weights weights;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (std::uint32_t to = 0; to < ranks; ++to)
      weights.push_back(static_cast<std::uint64_t>(std::llround(kDrawn * zipf_popularity(place[to], skew))));
  return weights;
}

// Divides by what all have in common.
void reduce(Weights& weights, std::string_view option) {
  std::uint64_t common = 0;
  for (const std::uint64_t weight : weights) common = std::gcd(common, weight);
  Int128 sum = 0;
  for (std::uint64_t& weight : weights) sum += weight /= std::max<std::uint64_t>(common, 1);
  if (sum > kLargestSum)
    throw InputError({std::string(option)}, "the shares have too many digits", "write smaller or rounder numbers");
}

ShareExtremes extremes_of(const Weights& weights, std::uint32_t ranks, std::string_view option) {
  std::vector<std::uint64_t> sent(ranks), received(ranks);
  for (std::uint32_t from = 0; from < ranks; ++from)
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (from == to) continue;
      sent[from] += weights[std::size_t{from} * ranks + to];
      received[to] += weights[std::size_t{from} * ranks + to];
    }
  const double mean =
      static_cast<double>(std::accumulate(sent.begin(), sent.end(), std::uint64_t{0})) / static_cast<double>(ranks);
  if (mean == 0)
    throw InputError({std::string(option)}, "no rank has anything for another: their shares are all 0",
                     "give some pair of ranks a share above 0");
  const auto sender = std::ranges::max_element(sent), receiver = std::ranges::max_element(received);
  return {static_cast<std::uint32_t>(sender - sent.begin()), static_cast<std::uint32_t>(receiver - received.begin()),
          static_cast<double>(*sender) / mean, static_cast<double>(*receiver) / mean};
}

// One for all ranks: they are one logical ring.
collectives::Algorithm algorithm_of(const system::CollectiveOptions& options, std::string_view option) {
  constexpr auto kKind = static_cast<std::size_t>(CollectiveKind::kAllToAll);
  if (!options.tables[kKind].empty())
    throw InputError({std::string(option)}, "the algorithm of a file is for equal sizes", "leave the file out");
  const std::vector<collectives::Algorithm>& named = options.algorithms[kKind];
  for (const collectives::Algorithm& one : named)
    if (name_with_window(one) != name_with_window(named.front()))
      throw InputError({"--algo"}, "an all-to-all of sizes that differ runs over all dimensions as one",
                       fmt::format("name one algorithm: --algo {}", name_with_window(named.front())));
  return named.empty() ? *collectives::find_algorithm("direct") : named.front();
}

}  // namespace

std::string name_with_window(const collectives::Algorithm& algorithm) {
  return fmt::format("{}{}", algorithm.name, algorithm.window ? fmt::format("{}", *algorithm.window) : "");
}

ShareExtremes apply_shares(const ShareQuestion& question, const workload::CallOperation& operation, std::uint32_t ranks,
                           const ConfigFiles& files, experiment::Experiment& experiment) {
  const std::string option = question.given.empty() ? "--skew" : "--shares";
  if (operation.kind != CollectiveKind::kAllToAll)
    throw InputError({option},
                     fmt::format("every rank has as much in {}; sizes of all_to_all may differ", operation.name),
                     fmt::format("leave {} out, or write --op all_to_all", option));
  if (experiment.nccl)
    throw InputError({option}, "NCCL's all-to-all is simulated as one whole, with equal sizes",
                     "add --library fixed, which sends message by message");
  if (ranks > kMostRanks)
    throw InputError({option}, fmt::format("{} ranks; sizes may differ among at most {}", ranks, kMostRanks),
                     "take fewer with --nodes or --gpus-per-node");
  Diagnostics diagnostics;
  Weights weights = question.given.empty()
                        ? drawn_weights(question, ranks)
                        : ShareReader(ranks, diagnostics).read(read_given(question.given, files, diagnostics));
  reduce(weights, option);
  const ShareExtremes extremes = extremes_of(weights, ranks, option);
  system::CollectiveOptions& options = experiment.simulation.collectives;
  const collectives::Algorithm algorithm = algorithm_of(options, option);
  try {
    options.tables[static_cast<std::size_t>(CollectiveKind::kAllToAll)] = {
        std::make_shared<const collectives::MessageTable>(
            collectives::uneven_exchange(algorithm, name_with_window(algorithm), ranks, weights))};
  } catch (const InputError& error) {
    throw located(error, "--algo");
  }
  return extremes;
}

}  // namespace orrery::study
