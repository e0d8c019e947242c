// SPDX-License-Identifier: MIT
// Figures of a resolved experiment, and how well each is known. The kind of a figure comes from data: the comment
// behind it, if that begins with "assumed", "fitted" or "measured"; the lists of these names in its file, whose entries
// are keys or sections ("host.update", "rates.traffic"); `source` of the file for all others. What stands in the
// experiment, or in a file of the user's without a `source`, is given, unless these words say more.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "report/evidence/evidence.h"

namespace orrery::experiment {

struct Figure {
  report::EvidenceFigure shown;
  // Name of a link, as classes of links begin ("nvlink", "nic", "pcie"), and what the figure is.
  enum class Role : std::uint8_t { kOther, kBandwidth, kLatency };
  std::string link{};
  Role role = Role::kOther;
  // False of a default that changes nothing (a factor of 1, 100 %, no time) or follows from other keys, unless the file
  // says that it is assumed: no time rests on it.
  bool counts = true;
  bool agrees = true;  // the comment and the lists do not say different kinds
};

// Figures of a machine, of its software and of the job, by key; without keys that change nothing. `file`: the
// experiment.
std::vector<Figure> find_figures(const ConfigValue& resolved, std::span<const IdleKey> idle, const std::string& file,
                                 const ConfigFiles& files);

// Choices of the software that a job of a model rests on, which a launch script may have otherwise: precisions,
// overlaps, kernels, recomputation, what the host does. By key.
std::vector<report::EvidenceFigure> find_assumptions(const ConfigValue& resolved, std::span<const IdleKey> idle,
                                                     const std::string& file, const ConfigFiles& files);

// Fills in, for defaults, the meaning of the key by the documentation.
void explain_defaults(report::Evidence& evidence, const ConfigFiles& files);

}  // namespace orrery::experiment
