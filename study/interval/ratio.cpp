// SPDX-License-Identifier: MIT
#include "study/interval/ratio.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/error.h"
#include "study/interval/kinds.h"
#include "study/interval/nearest.h"

namespace orrery::study {
namespace {

constexpr std::size_t kLeastRatioFamilies = 5;

using Excesses = std::vector<double>;  // of pairs, the larger of a ratio and its inverse minus 1

Excesses excesses_of(std::span<const MeasuredError* const> family) {
  Excesses excesses;
  for (std::size_t i = 0; i < family.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const auto distance = distance_of(family[i]->kind, family[i]->run->shape, *family[k]);
      if (!distance || *distance > kFarthestPair) continue;
      const double one = 1 + family[i]->error, other = 1 + family[k]->error;
      excesses.push_back(std::max(one, other) / std::min(one, other) - 1);
    }
  return excesses;
}

std::optional<RatioError> error_of(std::span<const MeasuredError> errors, std::string_view model) {
  std::map<std::string_view, std::vector<const MeasuredError*>> families;
  for (const MeasuredError& one : errors)
    if (one.run && (model.empty() || one.kind.words.front() == model)) families[one.family].push_back(&one);
  RatioError result;
  std::vector<std::pair<double, double>> weighted;
  double all = 0;
  for (const auto& [name, runs] : families) {
    const Excesses excesses = excesses_of(runs);
    if (excesses.empty()) continue;
    result.pairs += excesses.size();
    ++result.families;
    const double weight = 1 / std::sqrt(static_cast<double>(excesses.size()));
    for (const double excess : excesses) weighted.emplace_back(excess, weight);
    all += weight * static_cast<double>(excesses.size());
  }
  if (weighted.empty()) return std::nullopt;
  std::ranges::sort(weighted);
  double sum = 0;
  for (const auto& [excess, weight] : weighted) {
    result.at_most = excess;
    if ((sum += weight) >= kIntervalShare * all) break;
  }
  return result;
}

}  // namespace

std::optional<RatioError> ratio_error(const RunKind& kind, std::span<const MeasuredError> errors) {
  std::optional<RatioError> own = error_of(errors, kind.words.front());
  if (own && own->families >= kLeastRatioFamilies) {
    own->of = kind.words.front();
    return own;
  }
  std::optional<RatioError> any = error_of(errors, {});
  if (any) any->of = training_runs().any;
  if (any && own) any->at_most = std::max(any->at_most, own->at_most);
  return any;
}

bool is_within(double ratio, const RatioError& error) { return std::max(ratio, 1 / ratio) <= 1 + error.at_most; }

std::string ratio_errors_text(const RatioError& error) {
  return fmt::format("{} or less in {} of {} pairs of published runs", percent(error.at_most),
                     percent(kIntervalShare, 0), error.pairs);
}

std::string no_ratio_error_text(const std::string& by_hand) {
  return fmt::format("no error of the ratio is given: no published run has '{}' so", printable(by_hand, 80));
}

std::string ratio_error_text(const RatioError& error) {
  return fmt::format("{} of {} pairs of published runs ({}) have ratios within {} of the predicted",
                     percent(kIntervalShare, 0), error.pairs, error.of, percent(error.at_most));
}

nlohmann::ordered_json to_json(const RatioError& error) {
  return {{"at_most", error.at_most},
          {"share", kIntervalShare},
          {"pairs", error.pairs},
          {"families", error.families},
          {"of", error.of}};
}

report::DocumentKeys ratio_error_keys() {
  using enum report::KeyType;
  return {{kNumber, "at_most", "the larger of measured / predicted ratio and its inverse, minus 1"},
          {kNumber, "share", "of pairs that have no more"},
          {kWhole, "pairs", "of published runs"},
          {kWhole, "families", "that these are of"},
          {kText, "of", "which sort of model"}};
}

}  // namespace orrery::study
