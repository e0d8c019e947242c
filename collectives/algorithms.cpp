// SPDX-License-Identifier: MIT
#include "collectives/algorithms.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace orrery::collectives {

// Defined by the algorithms, each in the `.cpp` of its name.
const Program* direct(CollectiveKind kind);
const Program* halving_doubling(CollectiveKind kind);
const Program* in_network(CollectiveKind kind);
const Program* ring(CollectiveKind kind);

namespace {

constexpr std::array kAlgorithms = {
    Algorithm{
        .name = "bidirectional-ring",
        .description = "two rings, half of the data each way round; on a torus or a mesh along every axis at once",
        .program = ring,
        .both_ways = true,
        .takes_window = false,
        .window = {}},
    Algorithm{.name = "direct",
              .description = "every rank to every other one, in shifted order; directK keeps K sends in flight",
              .program = direct,
              .takes_window = true,
              .window = {}},
    Algorithm{.name = "halving-doubling",
              .description = "exchanges with partners 2^k ranks away, the largest with the nearest (on one switch: "
                             "with the farthest); binomial "
                             "trees from and to a root",
              .program = halving_doubling,
              .takes_window = false,
              .window = {}},
    Algorithm{.name = "in-network",
              .description = "switches add up and copy on the way; up once and down once, on the last dimension",
              .program = in_network,
              .takes_window = false,
              .window = {}},
    Algorithm{.name = "ring",
              .description = "neighbour to neighbour, one message at a time; pipelined chains from and to a root",
              .program = ring,
              .takes_window = false,
              .window = {}},
};
static_assert(std::ranges::is_sorted(kAlgorithms, {}, &Algorithm::name));

std::optional<std::uint32_t> parse_window(std::string_view digits) {
  if (digits.empty() || digits.front() < '1' || digits.front() > '9') return std::nullopt;
  std::uint32_t window = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), window);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return window;
}

}  // namespace

bool Algorithm::supports(CollectiveKind kind) const { return program(kind) != nullptr; }

bool Algorithm::is_in_network() const {
  const Program* found = program(CollectiveKind::kAllReduce);
  return found != nullptr && found->is_in_network;
}

bool Algorithm::splits_all_reduce() const {
  return supports(CollectiveKind::kReduceScatter) && supports(CollectiveKind::kAllGather);
}

std::string Algorithm::cost(CollectiveKind kind) const {
  const Program* found = program(kind);
  if (found == nullptr) return {};
  const bool is_halved = both_ways && kind != CollectiveKind::kBarrier;
  return std::string(found->cost) + (is_halved ? ", with ceil(S/2) for S" : "");
}

std::span<const Algorithm> algorithms() { return kAlgorithms; }

std::optional<Algorithm> find_algorithm(std::string_view name) {
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
  return names;
}

}  // namespace orrery::collectives
