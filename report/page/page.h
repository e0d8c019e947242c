// SPDX-License-Identifier: MIT
// An answer as one HTML file that needs nothing else: styles, scripts (d3 and ours) and the data are in it, and its
// policy forbids browsers to load anything. The script draws what the document's "kind" asks for.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "report/critical_path.h"
#include "report/timeline/tracks.h"

namespace orrery::report {

// Both are free to hold anything that a user's files do.
std::string page_text(std::string_view title, const nlohmann::ordered_json& data);

// Data of a run's page, whatever the size of the job: of many classes of ranks and of long lists, a part with the total
// number. The same input gives the same bytes.
nlohmann::ordered_json run_page(const TimelineSource& source, const CriticalPath& path);

}  // namespace orrery::report
