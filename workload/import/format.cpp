// SPDX-License-Identifier: MIT
#include "workload/import/format.h"

#include <algorithm>
#include <cctype>
#include <span>

namespace orrery::workload {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"astra-text", "simai", "goal", "kineto"};

// The first line that says something: not empty, no comment.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())) != 0) line.remove_prefix(1);
    if (!line.empty() && !line.starts_with("#") && !line.starts_with("//") && !line.starts_with("/*")) return line;
  }
  return {};
}

bool has_any(std::string_view line, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

}  // namespace

std::string_view name_of(WorkloadFormat format) { return kNames[static_cast<std::size_t>(format)]; }

std::optional<WorkloadFormat> workload_format_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<WorkloadFormat>(found - kNames.begin());
}

std::optional<WorkloadFormat> workload_format_of(std::string_view beginning) {
  if (beginning.starts_with("\x1f\x8b")) return WorkloadFormat::kKineto;
  const std::string_view line = first_line(beginning);
  if (line.starts_with("{") || line.starts_with("[")) return WorkloadFormat::kKineto;
  if (line.starts_with("num_ranks")) return WorkloadFormat::kGoal;
  constexpr std::array<std::string_view, 5> kSimaiWords = {"all_gpus", "pp_comm", " ga:", " vpp:", " ep:"};
  // Files of 2024 have those words only in their layers, or none: AICB writes that there are no checkpoints.
  constexpr std::array<std::string_view, 2> kSimaiCalls = {"BROADCAST", "_EP"};
  if (has_any(line, kSimaiWords)) return WorkloadFormat::kSimai;
  constexpr std::array<std::string_view, 1> kNoCheckpoints = {"checkpoints: 0 checkpoint_initiates: 0"};
  if (line.starts_with("HYBRID_TRANSFORMER") && (has_any(beginning, kSimaiCalls) || has_any(line, kNoCheckpoints)))
    return WorkloadFormat::kSimai;
  constexpr std::array<std::string_view, 5> kAstraWords = {"MICRO", "DATA", "MODEL", "HYBRID_", "DISTRIBUTED_"};
  if (std::ranges::any_of(kAstraWords, [&](std::string_view word) { return line.starts_with(word); }))
    return WorkloadFormat::kAstraText;
  return std::nullopt;
}

std::string_view foreign_workload_hint(std::string_view beginning) {
  if (first_line(beginning).starts_with("comm_type,comm_group"))
    return "this is AICB's log of a run: the calls of one rank, without what computes between them. Give the text "
           "workload that AICB writes for SimAI";
  return {};
}

}  // namespace orrery::workload
