// SPDX-License-Identifier: MIT
// Rows of Megatron-LM's table, by what they are about; and what its arguments say together. Facts: megatron/training/
// arguments.py and megatron/core of NVIDIA/Megatron-LM, 2025 and 2026.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/launchers/argument_table.h"

namespace orrery::experiment {

std::vector<ArgumentRow> megatron_model_rows();
std::vector<ArgumentRow> megatron_expert_rows();
std::vector<ArgumentRow> megatron_parallel_rows();
std::vector<ArgumentRow> megatron_memory_rows();
std::vector<ArgumentRow> megatron_software_rows();
std::vector<UnusedArguments> megatron_unused();

// Kernel that attention has.
bool has_plain_attention(const LaunchReading& reading);

// A list that an argument writes in Python: "([0]*3+[1]*58)", "[1,1,0]*4", or a lone number; empty if it is none.
std::vector<std::int64_t> python_list(std::string_view text);

}  // namespace orrery::experiment
