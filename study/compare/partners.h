// SPDX-License-Identifier: MIT
// Keys to move together: where a change makes links faster to little or no effect, the pair of it and the key that
// holds them up is simulated, so that what is said of the pair is known and not guessed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "experiment/runs/run.h"
#include "study/compare/no_difference.h"

namespace orrery::study {

// Time of one of two experiments with some settings; nothing where it cannot run.
enum class WhichSide { kFirst, kSecond };
using TimeWith = std::function<std::optional<Duration>(WhichSide side, const std::vector<std::string>& settings)>;

struct PairTimes {
  Duration first{};
  Duration second{};
  TimeWith with{};
};

// Tries for the first reason of faster links the settings that it names. Where nothing comes of them, and no operation
// took another time, the busiest of the links that nobody changed are made as much faster, too. At most four runs.
void try_partners(const EqualPair& pair, const PairTimes& times, std::vector<NoDifference>& reasons);

// A run and its experiment, which outlive the pair that is made of two.
struct RunOf {
  const experiment::Experiment& experiment;
  const experiment::Run& run;
};
EqualPair pair_of(const RunOf& first, const RunOf& second);

// Two runs, the first of which came first, and what they were asked for.
struct RunPair {
  const experiment::RunRequest& first;
  const experiment::Run& first_run;
  const experiment::RunRequest& second;
  const experiment::Run& second_run;
};

// Reasons why the second run takes as long as the first, else what holds up links that it has faster; with partners,
// unless runs have so many events that one more takes long. Both experiments are read once more.
// `progress` is told of these runs.
std::vector<NoDifference> explained_difference(const RunPair& runs, const ConfigFiles& files,
                                               const experiment::RunProgress& progress = {});

}  // namespace orrery::study
