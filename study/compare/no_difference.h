// SPDX-License-Identifier: MIT
// Reasons why a change makes no difference to the time of an experiment: another key overrides it, the job does not use
// what it sets, narrower links hold up what crosses faster ones, or other work hides what becomes faster.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "experiment/experiment.h"
#include "experiment/runs/run.h"
#include "report/figures.h"
#include "report/parts.h"

namespace orrery::study {

inline constexpr double kLeastSaving = 0.0005;  // share of a time that is worth a mention

// Shares of the first experiment's time.
struct Saving {
  double plain = 0;     // that the second saves as it is
  double together = 0;  // that it saves with settings of other keys
  double alone = 0;     // that these settings save by themselves
};

// Keys that have one reason.
struct NoDifference {
  std::vector<std::string> keys;
  std::string reason;
  std::string remedy;    // what to change in their place, or with them; may be empty
  bool is_idle = false;  // the configuration says so by itself, whatever the job does
  std::string cap{};  // the reason where a narrower link is in the way, in few words: what it is, and what it carries
  std::vector<std::string> with{};  // settings of other keys, with which these may act: "KEY*=2"
  std::optional<Saving> saving{};   // of these settings, simulated
  double rise = 1;                  // of the bandwidth of links that the keys set
  bool is_known = true;             // false of "no rule says"
};

// Comparison of the times of two runs' operations.
enum class OperationTimes : std::uint8_t { kUnknown, kSame, kOther };
OperationTimes operation_times(const experiment::Run& first, const experiment::Run& second);

// Two experiments that take equally long.
struct EqualPair {
  const experiment::Experiment& first;
  const experiment::Experiment& second;
  std::set<std::string> used_links;  // classes of links, without directions, that messages crossed
  OperationTimes operations = OperationTimes::kUnknown;
  std::uint32_t ranks = 0;            // of all jobs; 0: unknown
  bool waits_for_hosts = true;        // in one of the runs a device waits for its host, or nobody knows
  report::LinkShares shares{};        // of the second
  bool computes_as_measured = false;  // durations of traces, which no device changes

  // Takes what the parts of an iteration and the links that messages crossed say of one of them, after `false` above.
  void take(const report::LinkShares& links, const std::vector<report::Part>& parts);
};

// True if a key differs that tells what hosts launch, and how fast: it makes no difference where no device waits for
// them.
bool changes_host(const EqualPair& pair);

// A reason for every key that differs; keys for people only have none. Empty where no key differs.
std::vector<NoDifference> why_no_difference(const EqualPair& pair);

// A reason for every key that makes links faster in the second experiment which others on all of their routes hold up
// there, by their names, too: what they carry beyond that changes nothing, whatever the times are.
std::vector<NoDifference> held_up(const EqualPair& pair);

// "reason; remedy", with the cap alone for the reason where there is one, and what was simulated for the remedy.
std::string short_text(const NoDifference& one);

// "KEY, KEY: reason; remedy".
std::string to_text(const NoDifference& one);
nlohmann::ordered_json to_json(const NoDifference& one);

}  // namespace orrery::study
