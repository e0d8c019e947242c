// SPDX-License-Identifier: MIT
// The formats of workloads that can be imported, and how a file tells which it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::workload {

enum class WorkloadFormat : std::uint8_t { kAstraText, kSimai, kGoal, kKineto };

inline constexpr std::array<WorkloadFormat, 4> kAllWorkloadFormats = {
    WorkloadFormat::kAstraText, WorkloadFormat::kSimai, WorkloadFormat::kGoal, WorkloadFormat::kKineto};

std::string_view name_of(WorkloadFormat format);  // "astra-text", "simai", "goal", "kineto"
std::optional<WorkloadFormat> workload_format_named(std::string_view name);

// Format by the beginning of a file: JSON or gzip is Kineto's, `num_ranks` GOAL's, a header with SimAI's words SimAI's,
// another word of ASTRA-sim's parallelism its own. Nothing if none fits.
std::optional<WorkloadFormat> workload_format_of(std::string_view beginning);

// Hint on how to convert a file that has none of these formats; empty if there is none.
std::string_view foreign_workload_hint(std::string_view beginning);

}  // namespace orrery::workload
