// SPDX-License-Identifier: MIT
// Sizes of an all-to-all that differ from pair to pair of ranks: given, or drawn as the loads of experts are.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/algorithms.h"
#include "core/config/tree.h"
#include "experiment/experiment.h"
#include "workload/calls/operation.h"

namespace orrery::study {

// As written on the command line; an empty text was not given. `given` and `skew` are not both given.
struct ShareQuestion {
  std::string given{};  // a file, YAML or CSV, or YAML itself: a row of weights by receiver, or a row for each sender
  std::string skew{};   // exponent of Zipf's law: what the receivers get
  std::string seed{};   // who of the receivers is how popular; by rank

  bool is_asked() const { return !given.empty() || !skew.empty(); }
};

// As --algo takes it, with its window: "direct4".
std::string name_with_window(const collectives::Algorithm& algorithm);

// Extremes of an uneven exchange, over the mean of all ranks: the rank that sends most to others, and the one that gets
// most from them.
struct ShareExtremes {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  double sent = 1;
  double received = 1;
};

// The all-to-all of `experiment` becomes one with these sizes. Throws InputError, which names the option or the place
// in the file, where they are none, or where the operation or the library has only equal ones.
ShareExtremes apply_shares(const ShareQuestion& question, const workload::CallOperation& operation, std::uint32_t ranks,
                           const ConfigFiles& files, experiment::Experiment& experiment);

}  // namespace orrery::study
