// SPDX-License-Identifier: MIT
#include "study/compare/partners.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "report/figures.h"
#include "report/parts.h"
#include "study/compare/changed_links.h"

namespace orrery::study {
namespace {

constexpr std::uint64_t kMostEvents = 5'000'000;  // of a run that is simulated again: a few seconds

double saved(Duration time, Duration first) { return 1 - seconds(time) / seconds(first); }

// Key of the busiest links whose key none of the settings or changes moves; "" if there are none.
std::string busiest_other(const EqualPair& pair, const std::vector<std::string>& moved) {
  const network::Fabric& fabric = pair.second.fabric;
  for (const auto& [name, share] : pair.shares)
    for (std::size_t link_class = 0; link_class < fabric.link_classes().size(); ++link_class) {
      const std::string& key = fabric.link_keys()[link_class];
      if (network::without_direction(fabric.link_classes()[link_class]) != name || key.empty()) continue;
      if (std::ranges::find(moved, key) == moved.end()) return key;
    }
  return {};
}

std::optional<Saving> saving_with(const std::vector<std::string>& settings, const PairTimes& times) {
  const std::optional<Duration> together = times.with(WhichSide::kSecond, settings);
  if (!together) return std::nullopt;
  Saving saving{saved(times.second, times.first), saved(*together, times.first), 0};
  if (saving.together - saving.plain < kLeastSaving) return saving;
  const std::optional<Duration> alone = times.with(WhichSide::kFirst, settings);
  if (!alone) return std::nullopt;
  saving.alone = saved(*alone, times.first);
  return saving;
}

bool saves_more(const std::optional<Saving>& saving) {
  return saving && saving->together - saving->plain >= kLeastSaving;
}

}  // namespace

void try_partners(const EqualPair& pair, const PairTimes& times, std::vector<NoDifference>& reasons) {
  const auto reason = std::ranges::find_if(reasons, [](const NoDifference& one) { return one.rise > 1; });
  if (reason == reasons.end() || times.first <= Duration::zero()) return;
  if (!reason->with.empty()) reason->saving = saving_with(reason->with, times);
  if (pair.operations != OperationTimes::kSame || saves_more(reason->saving)) return;
  std::vector<std::string> moved;
  for (const std::string& setting : reason->with) moved.push_back(path_of_setting(setting));
  for (const NoDifference& one : reasons) moved.insert(moved.end(), one.keys.begin(), one.keys.end());
  const std::string busiest = busiest_other(pair, moved);
  if (busiest.empty()) return;
  std::vector<std::string> settings = reason->with;
  settings.push_back(fmt::format("{}*={:.3g}", busiest, reason->rise));
  const std::optional<Saving> saving = saving_with(settings, times);
  if (!saves_more(saving)) return;
  reason->with = std::move(settings);
  reason->saving = saving;
}

EqualPair pair_of(const RunOf& first, const RunOf& second) {
  EqualPair pair{first.experiment, second.experiment, {}, operation_times(first.run, second.run), 0, false};
  for (const experiment::Run* run : {&first.run, &second.run}) {
    const report::FigureSource source = report::figure_source(run->result);
    pair.take(source.links, source.parts);
    pair.computes_as_measured = run->result.computes_as_measured;
  }
  const std::size_t ranks = first.run.job.ranks.size();
  if (ranks == second.run.job.ranks.size()) pair.ranks = static_cast<std::uint32_t>(ranks);
  return pair;
}

std::vector<NoDifference> explained_difference(const RunPair& runs, const ConfigFiles& files,
                                               const experiment::RunProgress& progress) {
  Diagnostics told;  // by the runs
  const auto load = [&](const experiment::RunRequest& request) {
    return experiment::load_experiment(request.file, request.settings, files, told);
  };
  const experiment::Experiment first = load(runs.first), second = load(runs.second);
  const EqualPair pair = pair_of({first, runs.first_run}, {second, runs.second_run});
  std::vector<NoDifference> reasons =
      runs.second_run.result.finish == runs.first_run.result.finish ? why_no_difference(pair) : held_up(pair);
  if (std::max(runs.first_run.result.events, runs.second_run.result.events) > kMostEvents) return reasons;
  const auto time_with = [&](WhichSide side, const std::vector<std::string>& settings) -> std::optional<Duration> {
    experiment::RunRequest request = side == WhichSide::kFirst ? runs.first : runs.second;
    request.settings.insert(request.settings.end(), settings.begin(), settings.end());
    request.figures = experiment::RunFigures::none();
    request.finds_path = request.finds_slack = false;
    try {
      return experiment::run_experiment(request, files, progress).result.finish.time_since_epoch();
    } catch (const InputError&) {
      return std::nullopt;
    } catch (const StuckError&) {
      return std::nullopt;
    }
  };
  try_partners(
      pair,
      {runs.first_run.result.finish.time_since_epoch(), runs.second_run.result.finish.time_since_epoch(), time_with},
      reasons);
  return reasons;
}

}  // namespace orrery::study
