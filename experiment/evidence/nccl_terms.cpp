// SPDX-License-Identifier: MIT
#include "experiment/evidence/nccl_terms.h"

#include <cmath>
#include <functional>
#include <string_view>

#include "collectives/nccl/cost.h"
#include "collectives/nccl/model.h"

namespace orrery::experiment {
namespace {

using collectives::ConstantKind;
using collectives::NcclConstants;

constexpr double kConstantChange = 0.001;
// Less of a relative change is rounding.
constexpr double kLeast = 1e-5;

using TimeWith = std::function<double(const NcclConstants&)>;

// Relative change of a time with a constant, in size. Shares are at most 1, so that all become less.
double slope(const TimeWith& time_with, double time, const NcclConstants& constants, std::size_t number) {
  const double value = constants.value(number);
  if (value == 0) return 0;
  NcclConstants changed = constants;
  changed.set(number, value * (1 - kConstantChange));
  return std::abs(time_with(changed) - time) / (kConstantChange * time);
}

std::string_view first_key(std::string_view path) { return path.substr(0, path.find('.')); }

// True of a factor or a size that a constant goes with: base_factor.ampere with base.ring.ll, chunk.largest with
// chunk.cost.
bool belongs_to(std::string_view factor, std::string_view constant) {
  const std::string_view one = first_key(factor), other = first_key(constant);
  return one.starts_with(other) && (one.size() == other.size() || one[other.size()] == '_');
}

// `of_links`: relative change of the time with the latencies of links.
NcclTerms terms_of(const TimeWith& time_with, const NcclConstants& constants, double of_links) {
  NcclTerms terms;
  const double time = time_with(constants);
  if (time <= 0 || !std::isfinite(time)) return {{{1, {}}}, {}};
  std::vector<std::string> factors;
  double sum = of_links;
  for (std::size_t number = 0; number < collectives::kNcclConstants; ++number) {
    const double change = slope(time_with, time, constants, number);
    if (change < kLeast) continue;
    const collectives::NcclConstantEntry& entry = collectives::nccl_constant_entries()[number];
    const std::string path(entry.path);
    if (entry.kind == ConstantKind::kShare)
      terms.bandwidth.push_back(path);
    else if (entry.kind == ConstantKind::kFactor || entry.kind == ConstantKind::kSize)
      factors.push_back(path);
    else
      terms.latency.push_back({change, {path}});
    if (entry.kind == ConstantKind::kLatency || entry.kind == ConstantKind::kRate) sum += change;
  }
  if (of_links >= kLeast || sum == 0) terms.latency.push_back({sum == 0 ? 1 : of_links, {}});
  for (LatencyTerm& term : terms.latency) {
    term.share /= sum == 0 ? 1 : sum;
    for (const std::string& factor : factors)
      if (!term.constants.empty() && belongs_to(factor, term.constants.front())) term.constants.push_back(factor);
  }
  return terms;
}

}  // namespace

NcclTerms terms_of_call(const system::NcclLibrary& library, CollectiveKind kind, Bytes bytes,
                        const collectives::GroupShape& shape) {
  const collectives::NcclTiming chosen = library.choice(kind, bytes, shape);
  const collectives::NcclCandidate candidate{chosen.algorithm, chosen.protocol};
  const auto time_on = [&](const collectives::GroupShape& on, const NcclConstants& constants) {
    const collectives::NcclCall call{kind, bytes, &on, system::machine_of(library.machines(), on)};
    return collectives::lone_seconds(collectives::nccl_cost(candidate, call, library.options(), constants), call,
                                     library.options(), constants);
  };
  collectives::GroupShape slower = shape;
  slower.within_latency *= 2;
  slower.between_latency *= 2;
  const double time = time_on(shape, library.constants());
  const double of_links = time > 0 ? time_on(slower, library.constants()) / time - 1 : 0;
  return terms_of([&](const NcclConstants& constants) { return time_on(shape, constants); }, library.constants(),
                  of_links);
}

NcclTerms terms_of_send(const system::NcclLibrary& library, Bytes bytes, bool is_same_node) {
  return terms_of(
      [&](const NcclConstants& constants) {
        return seconds(
            collectives::nccl_send(bytes, is_same_node, library.machine(), library.options(), constants).latency);
      },
      library.constants(), 0);
}

}  // namespace orrery::experiment
