// SPDX-License-Identifier: MIT
// Evidence of a run that is made again from its result: the resolved experiment in it no longer has the comments and
// the files that its figures were read from, but the document says what they were.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/config/tree.h"
#include "experiment/evidence/figures.h"

namespace orrery::experiment {

using RecordedFigures = std::map<std::string, report::EvidenceFigure>;  // by key

// Figures that a result's evidence has; none of a file that is no result, or has no evidence.
RecordedFigures recorded_figures(const std::string& file, const ConfigFiles& files);

// Gives figures the kinds, places and sources that `recorded` has of them; those that it does not have rested on
// nothing in that run, and count for nothing here. Values of settings stay as they are, and so do all without a record.
void take_recorded(std::vector<Figure>& figures, const RecordedFigures& recorded);

}  // namespace orrery::experiment
