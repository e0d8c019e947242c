// SPDX-License-Identifier: MIT
#include "workload/matching/screen_lines.h"

#include <algorithm>

#include <fmt/format.h>

namespace orrery::workload {

std::size_t line_count(std::string_view text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

std::string report_lines(std::string_view text, std::size_t indent) {
  constexpr std::size_t kFurther = 4;
  std::string lines;
  for (std::size_t begins_at = indent; !text.empty(); begins_at = indent + kFurther) {
    const std::size_t room = kReportColumns - begins_at;
    std::size_t end = text.size();
    if (end > room) {
      end = text.rfind(' ', room);
      if (end == std::string_view::npos || end == 0) end = std::min(text.find(' ', room), text.size());
    }
    lines += std::string(begins_at, ' ');
    lines += text.substr(0, end);
    lines += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string report_part(std::span<const std::string> items, std::size_t indent, std::size_t most,
                        std::string_view what) {
  std::string part;
  std::size_t used = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::string lines = report_lines(items[i], indent);
    const bool is_last = i + 1 == items.size();
    if (i > 0 && used + line_count(lines) + (is_last ? 0 : 1) > most)
      return part + report_lines(fmt::format("... and {} more {}", items.size() - i, what), indent);
    used += line_count(lines);
    part += lines;
  }
  return part;
}

}  // namespace orrery::workload
