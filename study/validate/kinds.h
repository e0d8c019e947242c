// SPDX-License-Identifier: MIT
// All kinds of validation against published measurements. A kind adds a reader of its tables, a predictor of their rows
// and a line here; experiment/files/file_kinds.cpp tells its files by their keys.
#pragma once

#include <span>
#include <string_view>

#include "study/validate/measured/kind.h"

namespace orrery::study {

// In the order of the output.
std::span<const ValidationKind> validation_kinds();
const ValidationKind& validation_kind(std::string_view name);

}  // namespace orrery::study
