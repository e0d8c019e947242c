// SPDX-License-Identifier: MIT
#include "experiment/calls/shares.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collectives/uneven_exchange.h"
#include "core/config/csv_lines.h"
#include "core/config/quantity_text.h"
#include "core/draw.h"
#include "core/error.h"
#include "core/files/read_file.h"

namespace orrery::experiment {
namespace {

constexpr std::uint32_t kMostRanks = 1024;  // a message of its own for each pair takes memory
// Limit to the sum of all weights: times the ranks it fits 64 bits.
constexpr std::uint64_t kLargestSum = std::uint64_t{1} << 53;
constexpr double kMostSkew = 4;  // as of parallel.expert_skew
constexpr double kDrawn = 1e8;   // the largest drawn weight; the others are rounded to whole numbers beside it

// Weights by sender and receiver, row by row.
using Weights = std::vector<std::uint64_t>;

ConfigValue value_at(ConfigValue::Kind kind, Location where, std::string_view text = {}) {
  return {kind, std::move(where), std::string(text), {}, {}};
}

// Reads a line as a list; a file of one line is that one.
ConfigValue read_share_csv(const std::string& path) {
  ConfigValue rows = value_at(ConfigValue::Kind::kList, {path});
  const std::string text = read_text(path, {.kind = InputKind::kConfiguration});
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

// Reads a weight in millionths. It is no quantity, which would have a unit.
std::optional<std::uint64_t> parse_weight(const ConfigValue& value) {
  const std::string& text = value.scalar;
  if (value.kind != ConfigValue::Kind::kScalar || text.empty()) return std::nullopt;
  if (std::isdigit(static_cast<unsigned char>(text.back())) == 0) return std::nullopt;
  const Parsed<Bytes> millionths = parse_quantity<Bytes>(text + " MB");
  if (!millionths.value) return std::nullopt;
  return static_cast<std::uint64_t>(millionths.value->count());
}

// Reads a row of weights, or one for each sender.
class ShareReader {
 public:
  ShareReader(std::uint32_t ranks, Diagnostics& diagnostics) : ranks_(ranks), diagnostics_(diagnostics) {}

  // Returns harmless weights after an error.
  Weights read(const ConfigValue& value) {
    if (value.kind != ConfigValue::Kind::kList) {
      diagnostics_.error(
          value.where, fmt::format("{} where shares are expected", kind_name(value.kind)),
          "write a list, [4, 2, 1, 1], a list of such lists, or the name of a .yaml or .csv file with one");
      return {};
    }
    const bool is_matrix =
        std::ranges::any_of(value.items, [](const ConfigValue& v) { return v.kind == ConfigValue::Kind::kList; });
    if (is_matrix && value.items.size() != ranks_)
      diagnostics_.error(
          value.where, fmt::format("{} of shares for {}", counted(value.items.size(), "row"), counted(ranks_, "rank")),
          "one row for each sender, or a lone one for all of them");
    if (!is_matrix) return read_lone_row(value);
    for (const ConfigValue& row : value.items) read_row(row);
    return std::move(weights_);
  }

 private:
  Weights read_lone_row(const ConfigValue& row) {
    read_row(row);
    const Weights own = weights_;
    for (std::uint32_t rank = 1; rank < ranks_; ++rank) weights_.insert(weights_.end(), own.begin(), own.end());
    return std::move(weights_);
  }

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

// Every sender's buffer goes to the receivers by their popularity, whose order a seed draws.
Weights drawn_weights(double skew, std::optional<std::int64_t> seed, std::uint32_t ranks) {
  std::vector<std::uint32_t> place(ranks);
  std::iota(place.begin(), place.end(), 0U);
  if (seed) place = shuffled(ranks, static_cast<std::uint64_t>(*seed));
  Weights weights;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (std::uint32_t to = 0; to < ranks; ++to)
      weights.push_back(static_cast<std::uint64_t>(std::llround(kDrawn * zipf_popularity(place[to], skew))));
  return weights;
}

// Divides by what all have in common. Returns whether the sum can be counted with.
bool reduce(Weights& weights) {
  std::uint64_t common = 0;
  for (const std::uint64_t weight : weights) common = std::gcd(common, weight);
  Int128 sum = 0;
  for (std::uint64_t& weight : weights) sum += weight /= std::max<std::uint64_t>(common, 1);
  return sum <= kLargestSum;
}

// Returns nothing where no rank has anything for another.
std::optional<ShareExtremes> extremes_of(const Weights& weights, std::uint32_t ranks) {
  std::vector<std::uint64_t> sent(ranks), received(ranks);
  for (std::uint32_t from = 0; from < ranks; ++from)
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (from == to) continue;
      sent[from] += weights[std::size_t{from} * ranks + to];
      received[to] += weights[std::size_t{from} * ranks + to];
    }
  const double mean =
      static_cast<double>(std::accumulate(sent.begin(), sent.end(), std::uint64_t{0})) / static_cast<double>(ranks);
  if (mean == 0) return std::nullopt;
  const auto sender = std::ranges::max_element(sent), receiver = std::ranges::max_element(received);
  return ShareExtremes{static_cast<std::uint32_t>(sender - sent.begin()),
                       static_cast<std::uint32_t>(receiver - received.begin()), static_cast<double>(*sender) / mean,
                       static_cast<double>(*receiver) / mean};
}

// Checks the keys beside one another. `key`: the one that asks for sizes.
void check_keys(Section& section, std::string_view key, std::optional<double> skew) {
  if (section.has("seed") && !section.has("skew"))
    section.error("seed", "'seed' draws who gets how much of 'skew'", "leave it out, or write skew: 1");
  if (key == "shares" && section.has("skew"))
    section.error("skew", "'shares' and 'skew' both say who gets how much", "leave one of them out");
  if (skew && *skew > kMostSkew)
    section.error("skew",
                  fmt::format("invalid exponent '{}' of Zipf's law", printable(section.value("skew")->scalar, 40)),
                  "write a number from 0 (all alike) to 4");
  if (skew == 0.0)
    section.idle("seed", "with skew 0 every receiver gets as much", "write skew: 1, or leave it out",
                 IdleWarning::kOwnFile);
}

}  // namespace

void spell_out_shares(Section& workload) {
  const ConfigValue* shares = workload.value("shares");
  if (shares == nullptr || shares->kind != ConfigValue::Kind::kScalar) return;
  const bool is_csv = shares->scalar.ends_with(".csv");
  if (!is_csv && !looks_like_path(shares->scalar)) return;
  const std::string path = path_from(shares->where.file, shares->scalar).string();
  ConfigValue rows = is_csv ? read_share_csv(path)
                            : workload.context().files().load(path, shares->where, workload.context().diagnostics());
  if (!workload.sound()) return;
  ConfigValue contents = workload.contents();
  contents.find("shares")->value = std::move(rows);
  workload.rewrite(std::move(contents));
}

std::optional<UnevenShares> read_shares(Section& workload, const workload::CallOperation& operation,
                                        std::uint32_t ranks) {
  const ConfigValue* given = workload.raw("shares", "list of shares | list of such lists | file", "optional",
                                          "with `collective: all_to_all` of the fixed library: sizes that differ: "
                                          "weights by receiver, or a row of them for "
                                          "each sender, of which a rank's own stays where it is; written out, or the "
                                          "path of a YAML or CSV file, relative to "
                                          "the file that names it. Example: `[4, 2, 1, 1]`");
  const auto skew = workload.maybe<double>(
      "skew",
      "in place of `shares`: what receivers get of every sender falls by Zipf's law with this exponent, 0 to 4");
  const auto seed = WholeNumber("seed", "with `skew`: who gets how much is drawn; without it the first rank gets most",
                                {0, INT64_MAX})
                        .maybe(workload);
  const std::string_view key = workload.has("shares") ? "shares" : "skew";
  check_keys(workload, key, skew);
  if (ranks == 0 || !workload.has(key) || !workload.sound()) return std::nullopt;
  const Location where = workload.where_key(key);
  Diagnostics& diagnostics = workload.context().diagnostics();
  const auto refuse = [&](std::string problem, std::string hint) {
    diagnostics.error(where, std::move(problem), std::move(hint));
    return std::nullopt;
  };
  if (operation.kind != CollectiveKind::kAllToAll)
    return refuse(fmt::format("every rank has as much in {}; sizes of all_to_all may differ", operation.name),
                  "leave it out, or call all_to_all: `collective: all_to_all`, --op all_to_all");
  if (ranks > kMostRanks)
    return refuse(fmt::format("{} ranks; sizes may differ among at most {}", ranks, kMostRanks),
                  "take fewer: `nodes` and `ranks_per_node`, --nodes and --gpus-per-node");
  Weights weights = given != nullptr ? ShareReader(ranks, diagnostics).read(*given) : drawn_weights(*skew, seed, ranks);
  if (!workload.sound()) return std::nullopt;
  if (!reduce(weights)) return refuse("the shares have too many digits", "write smaller or rounder numbers");
  const std::optional<ShareExtremes> extremes = extremes_of(weights, ranks);
  if (!extremes)
    return refuse("no rank has anything for another: their shares are all 0",
                  "give some pair of ranks a share above 0");
  return UnevenShares{std::move(weights), *extremes, where};
}

// Gives the all-to-all these sizes. Its algorithm is one for all ranks, which are one logical ring.
void take_shares(const UnevenShares& shares, std::uint32_t ranks, const Location& named,
                 system::CollectiveOptions& options, Diagnostics& diagnostics) {
  constexpr auto kKind = static_cast<std::size_t>(CollectiveKind::kAllToAll);
  if (options.nccl)
    return diagnostics.error(
        shares.where, "NCCL's all-to-all is simulated as one whole, with equal sizes",
        "take the other library, which sends message by message: `collectives.library: fixed`, --library fixed");
  if (!options.tables[kKind].empty())
    return diagnostics.error(shares.where, "the algorithm of a file is for equal sizes", "leave the file out");
  std::vector<collectives::Algorithm>& algorithms = options.algorithms[kKind];
  if (algorithms.empty()) algorithms.push_back(*collectives::find_algorithm("direct"));
  const std::string name = algorithms.front().full_name();
  for (const collectives::Algorithm& one : algorithms)
    if (one.full_name() != name)
      return diagnostics.error(named, "an all-to-all of sizes that differ runs over all dimensions as one",
                               fmt::format("give every dimension the same, [{0}, {0}], or name one with --algo: direct, pairwise", name));
  try {
    options.tables[kKind] = {std::make_shared<const collectives::MessageTable>(
        collectives::uneven_exchange(algorithms.front(), name, ranks, shares.weights))};
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) diagnostics.error(named, problem.message, problem.hint);
  }
  algorithms.clear();  // the table has taken their place
}

}  // namespace orrery::experiment
