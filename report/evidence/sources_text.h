// SPDX-License-Identifier: MIT
// Table of the figures that a run rests on, and where they are from; it is written where other tables are, in
// report/sources_text.cpp.
#pragma once

#include <string>

#include "report/evidence/evidence.h"

namespace orrery::report {

// Figures by kind, those that most of the time rests on first.
std::string sources_text(const Evidence& evidence);

}  // namespace orrery::report
