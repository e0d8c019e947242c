// SPDX-License-Identifier: MIT
#include "collectives/algorithms.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace orrery::collectives {

// Defined by the algorithms, each in the `.cpp` of its name.
const Program* bruck(CollectiveKind kind);
const Program* direct(CollectiveKind kind);
const Program* double_binary_tree(CollectiveKind kind);
const Program* halving_doubling(CollectiveKind kind);
const Program* in_network(CollectiveKind kind);
const Program* one_by_one(CollectiveKind kind);
const Program* pairwise(CollectiveKind kind);
const Program* recursive_doubling(CollectiveKind kind);
const Program* ring(CollectiveKind kind);
const Program* server(CollectiveKind kind);
const Program* swing(CollectiveKind kind);

namespace {

constexpr Algorithm plain(std::string_view name, std::string_view description,
                          const Program* (*program)(CollectiveKind)) {
  return {.name = name, .description = description, .program = program, .window = {}};
}

constexpr std::array kAlgorithms = {
    Algorithm{
        .name = "bidirectional-ring",
        .description = "two rings, half of the data each way round; on a torus or a mesh along every axis at once",
        .program = ring,
        .both_ways = true,
        .along_axes = true,
        .takes_window = false,
        .window = {}},
    plain("binomial-tree", "reduce to a root, then broadcast, log2(n) levels each", binomial_tree),
    plain("bruck", "ceil(log2(n)) rounds with ranks 2^k apart, for any number of ranks", bruck),
    Algorithm{.name = "direct",
              .description = "every rank to every other one, in shifted order; directK keeps K sends in flight",
              .program = direct,
              .takes_window = true,
              .window = {}},
    Algorithm{.name = "double-binary-tree",
              .description = "two complementary binary trees, half of the data each, in 16 segments that follow one "
                             "another",
              .program = double_binary_tree,
              .both_ways = true,
              .window = {}},
    plain("halving-doubling",
          "exchanges with partners 2^k ranks away, the largest with the nearest (on one switch: with the farthest); "
          "binomial trees from and to a root",
          halving_doubling),
    plain("in-network", "switches add up and copy on the way; up once and down once, on the last dimension",
          in_network),
    plain("one-by-one", "every rank sends its whole buffer to one rank after another, and adds up what it gets",
          one_by_one),
    plain("pairwise", "one partner after another, send and receive at once: rank ^ i of 2^k ranks, else i ahead",
          pairwise),
    plain("recursive-doubling", "exchanges of all that a rank has with partners 2^k ranks away: for small messages",
          recursive_doubling),
    plain("ring", "neighbour to neighbour, one message at a time; pipelined chains from and to a root", ring),
    plain("server", "one parameter server: all push their buffers to a root, then pull the sum", server),
    plain("swing", "halving-doubling with partners that are near on a ring: 1, -1, 3, -5, 11, ... away", swing),
};
static_assert(std::ranges::is_sorted(kAlgorithms, {}, &Algorithm::name));

constexpr std::array kAliases = {
    AlgorithmAlias{"one-by-one-partitioned", "direct1", "one-by-one with a share of the buffer for each rank to sum"},
    AlgorithmAlias{"rabenseifner", "halving-doubling",
                   "its all-reduce: a halving reduce-scatter, a doubling all-gather"},
    AlgorithmAlias{"sharded-server", "direct", "every rank is the parameter server of its share"},
};
static_assert(std::ranges::is_sorted(kAliases, {}, &AlgorithmAlias::name));

std::optional<std::uint32_t> parse_window(std::string_view digits) {
  if (digits.empty() || digits.front() < '1' || digits.front() > '9') return std::nullopt;
  std::uint32_t window = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), window);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return window;
}

}  // namespace

std::string Algorithm::full_name() const { return std::string(name) + (window ? std::to_string(*window) : ""); }

bool Algorithm::supports(CollectiveKind kind) const { return program(kind) != nullptr; }

bool Algorithm::is_in_network() const {
  const Program* found = program(CollectiveKind::kAllReduce);
  return found != nullptr && found->is_in_network;
}

AllReduceBy Algorithm::all_reduce_by() const {
  using enum CollectiveKind;
  if (supports(kReduceScatter) && supports(kAllGather)) return AllReduceBy::kShards;
  if (is_in_network()) return AllReduceBy::kLast;
  return supports(kReduce) && supports(kBroadcast) ? AllReduceBy::kRoot : AllReduceBy::kWhole;
}

std::string Algorithm::cost(CollectiveKind kind) const {
  const Program* found = program(kind);
  if (found == nullptr) return {};
  const bool is_halved = both_ways && kind != CollectiveKind::kBarrier;
  return std::string(found->cost) + (is_halved ? ", with ceil(S/2) for S where n > 2" : "");
}

std::span<const Algorithm> algorithms() { return kAlgorithms; }

std::span<const AlgorithmAlias> algorithm_aliases() { return kAliases; }

std::optional<Algorithm> find_algorithm(std::string_view name) {
  const auto alias = std::ranges::find(kAliases, name, &AlgorithmAlias::name);
  if (alias != kAliases.end()) name = alias->algorithm;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (name == algorithm.name) return algorithm;
    if (!algorithm.takes_window || !name.starts_with(algorithm.name)) continue;
    Algorithm windowed = algorithm;
    windowed.window = parse_window(name.substr(algorithm.name.size()));
    if (windowed.window) return windowed;
  }
  return std::nullopt;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : kAlgorithms) names.emplace_back(algorithm.name);
  for (const AlgorithmAlias& alias : kAliases) names.emplace_back(alias.name);
  std::ranges::sort(names);
  return names;
}

}  // namespace orrery::collectives
