// SPDX-License-Identifier: MIT
// The steps of one collective, message by message, as `orrery collective --steps` draws them: who sends which chunk to
// whom, and whether it is added or copied there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/collective_kind.h"
#include "core/units.h"
#include "study/benchmark/question.h"

namespace orrery::study {

struct StepMessage {
  std::uint32_t round = 0;  // from 1, in its phase
  std::string from;         // a rank, or "switch"
  std::string to;
  // Chunks by the ranks' places in their line; of an all-to-all source and destination, "0>3".
  std::vector<std::string> chunks;
  Bytes bytes{0};
  bool is_added = false;  // else copied
};

struct StepPhase {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::string algorithm;
  std::string dimension;  // "dimension 0 (switch)", or "one logical group"
  std::uint32_t lines = 1;
  std::uint32_t ranks = 1;  // of a line
  std::uint32_t part = 0;   // of the data: `part` of `parts`, which run beside one another
  std::uint32_t parts = 1;
  std::vector<std::uint32_t> after;  // phases, from 0
  std::uint32_t rounds = 0;
  std::vector<StepMessage> messages;  // by round, then by sender
};

struct CollectiveSteps {
  std::string cluster;
  std::string operation;
  std::uint32_t ranks = 0;
  Bytes bytes{0};            // as workload::CallSize says
  std::uint32_t chunks = 1;  // collectives.chunks; each goes through all phases
  std::vector<StepPhase> phases;
};

// Steps of the fixed library, of at most 64 ranks. InputError, which names the option that is wrong.
CollectiveSteps collective_steps(const CollectiveQuestion& question, const workload::CallOperation& operation,
                                 Bytes size, const ConfigFiles& files);

std::string steps_text(const CollectiveSteps& steps);

// The JSON document "orrery.steps/1".
nlohmann::ordered_json to_json(const CollectiveSteps& steps);

}  // namespace orrery::study
