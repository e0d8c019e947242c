// SPDX-License-Identifier: MIT
#include "study/interval/ratio.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
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

// "5.3 % more" of 1.053.
std::string more_or_less(double ratio) {
  return fmt::format("{} {}", percent(std::abs(ratio - 1)), ratio < 1 ? "less" : "more");
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

bool are_near(const ComparedJob& first, const ComparedJob& second) {
  const auto distance = distance_of(second.kind, second.shape, first.kind, first.shape);
  return distance && *distance <= kFarthestPair;
}

bool is_within(double ratio, const RatioError& error) { return std::max(ratio, 1 / ratio) <= 1 + error.at_most; }

std::string ratio_errors_text(const RatioError& error) {
  return fmt::format("{} or less in {} of {} pairs of published runs", percent(error.at_most),
                     percent(kIntervalShare, 0), error.pairs);
}

RatioInterval ratio_interval(double ratio, const RatioError& error) {
  return {ratio / (1 + error.at_most), ratio * (1 + error.at_most), !is_within(ratio, error)};
}

nlohmann::ordered_json to_json(const RatioInterval& interval) {
  return {{"low", interval.low}, {"high", interval.high}, {"told_apart", interval.is_told_apart}};
}

std::string ratio_interval_text(double ratio, const RatioError& error) {
  const RatioInterval interval = ratio_interval(ratio, error);
  return fmt::format("it takes {} time; {} of {} pairs of published runs ({}) put that between {} and {}{}",
                     more_or_less(ratio), percent(kIntervalShare, 0), error.pairs, error.of, more_or_less(interval.low),
                     more_or_less(interval.high), interval.is_told_apart ? "" : ": the two cannot be told apart");
}

std::string no_ratio_error_text(const std::string& by_hand) {
  return fmt::format("no error of the ratio is given: no published run has '{}' so", printable(by_hand, 80));
}

std::string no_ratio_error_text(const ComparedJob& first, const ComparedJob& second) {
  std::vector<std::string> differences;
  const auto add = [&](std::string_view what, const auto& one, const auto& other) {
    if (one != other) differences.push_back(fmt::format("{}{} against {}", what, other, one));
  };
  const RunKind &kind = first.kind, &other = second.kind;
  for (std::size_t i = 0; i < kind.words.size(); ++i) add("", kind.words[i], other.words[i]);
  add("", kind.precision, other.precision);
  if (kind.words.front() == other.words.front()) {
    add("devices ", kind.devices, other.devices);
    add("parameters ", large_count(static_cast<double>(first.shape.parameters)),
        large_count(static_cast<double>(second.shape.parameters)));
    add("sequence ", first.shape.sequence, second.shape.sequence);
    for (std::size_t i = 0; i < kShapeDegrees.size(); ++i)
      add(fmt::format("{} ", kShapeDegrees[i]), first.shape.degrees[i], second.shape.degrees[i]);
  }
  constexpr std::size_t kMost = 3;
  differences.resize(std::min(differences.size(), kMost));
  return fmt::format("no error of the ratio is given: pairs of published runs are more alike than these two ({})",
                     printable(fmt::format("{}", fmt::join(differences, ", ")), 160));
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

}  // namespace orrery::study
