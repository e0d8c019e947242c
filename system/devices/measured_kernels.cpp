// SPDX-License-Identifier: MIT
#include "system/devices/measured_kernels.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace orrery::system {
namespace {

// Beyond this distance of the logarithms of sizes a measurement says nothing: a factor of four in one of them. Chosen
// among 0.7, 1.1, 1.4 and 1.6 by halves of the tables that configs/validation/compute samples.
constexpr double kReach = 1.4;

double log_of(std::int64_t size) { return std::log(static_cast<double>(size)); }

}  // namespace

// Products of whole matrices, single ones or those of experts in one kernel, and causal attention of whole sequences.
std::optional<MeasuredKernels::Place> MeasuredKernels::place_of(const workload::Operator& op) {
  if (const auto* gemm = std::get_if<workload::Gemm>(&op)) {
    const bool plain = (gemm->batch == 1 || gemm->grouped) && gemm->aligned && !gemm->winograd && gemm->stored_a == 0 &&
                       gemm->stored_c == 0;
    if (!plain || gemm->m <= 0 || gemm->n <= 0 || gemm->k <= 0 || gemm->batch <= 0) return std::nullopt;
    return Place{{op.index(), gemm->precision, gemm->scaling, 0, static_cast<int>(gemm->stage), gemm->grouped},
                 {log_of(gemm->m), log_of(gemm->n), log_of(gemm->k), log_of(gemm->batch)}};
  }
  if (const auto* attention = std::get_if<workload::FlashAttention>(&op)) {
    const bool whole = attention->causal && attention->queries == attention->keys && attention->window == 0;
    if (!whole || attention->queries <= 0 || attention->batch <= 0) return std::nullopt;
    return Place{{op.index(), attention->precision, workload::Scaling::kTensor, attention->head_size,
                  attention->backward ? 1 : 0, false},
                 {log_of(attention->queries), log_of(attention->batch), log_of(attention->group), 0}};
  }
  return std::nullopt;
}

MeasuredKernels::MeasuredKernels(std::span<const KernelSample> samples, const Modelled& modelled) {
  for (const KernelSample& sample : samples) {
    const auto* op = std::get_if<workload::Operator>(&sample.what);
    const std::optional<Place> place = op == nullptr ? std::nullopt : place_of(*op);
    if (!place) continue;
    samples_[place->kind].push_back({place->sizes, std::log(seconds(sample.measured) / seconds(modelled(*op)))});
  }
  for (auto& [kind, same] : samples_) std::ranges::stable_sort(same, {}, &Sample::sizes);
}

// Shepard's weights as Franke and Little have them, which end at the reach (Franke 1982, "Scattered data
// interpolation", Mathematics of Computation 38). The model counts as a measurement of its own at half of it.
MeasuredKernels::Correction MeasuredKernels::of(const workload::Operator& op) const {
  std::optional<Place> place = place_of(op);
  if (place && std::holds_alternative<workload::Gemm>(op) && !samples_.contains(place->kind)) place->kind.stage = 0;
  const auto same = place ? samples_.find(place->kind) : samples_.end();
  if (same == samples_.end()) return {};
  const double least = place->sizes.front() - kReach, most = place->sizes.front() + kReach;
  const auto first_of = [](const Sample& sample) { return sample.sizes.front(); };
  const double of_model = 1 / (kReach * kReach);
  double weights = 0, sum = 0, exact = 0, of_exact = 0;
  for (auto at = std::ranges::lower_bound(same->second, least, {}, first_of);
       at != same->second.end() && first_of(*at) <= most; ++at) {
    double square = 0;
    for (std::size_t i = 0; i < kSizes; ++i) {
      const double apart = at->sizes[i] - place->sizes[i];
      square += apart * apart;
    }
    const double distance = std::sqrt(square);
    if (distance == 0) {
      exact += 1;
      of_exact += at->ratio;
    } else if (distance < kReach) {
      const double root = (kReach - distance) / (kReach * distance);
      weights += root * root;
      sum += root * root * at->ratio;
    }
  }
  if (exact > 0) return {std::exp(of_exact / exact), 1};
  return {std::exp(sum / (weights + of_model)), weights / (weights + of_model)};
}

}  // namespace orrery::system
