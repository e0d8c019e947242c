// SPDX-License-Identifier: MIT
// Reports that fit one screen: lines of 80 columns, and so many of each part that all parts are seen.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace orrery::workload {

inline constexpr std::size_t kReportColumns = 80, kReportLines = 24;

// `text`, one line or several that break at blanks, each with an end. The second and later ones are set in by four
// more.
std::string report_lines(std::string_view text, std::size_t indent);

// Returns as many items as fit `most` lines, then "... and 7 more WHAT" for the rest. The first item is whole even if
// it does not fit.
std::string report_part(std::span<const std::string> items, std::size_t indent, std::size_t most,
                        std::string_view what);

std::size_t line_count(std::string_view text);

}  // namespace orrery::workload
