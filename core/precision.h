// SPDX-License-Identifier: MIT
// Number formats that devices compute in.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace orrery {

enum class Precision : std::uint8_t { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kInt8 };

inline constexpr std::array kAllPrecisions = {Precision::kFp64, Precision::kFp32, Precision::kTf32, Precision::kFp16,
                                              Precision::kBf16, Precision::kFp8,  Precision::kInt8};

std::string_view name_of(Precision precision);  // "fp64", "fp32", ...
std::vector<std::string> precision_names();     // in the order of kAllPrecisions
// Size of one number in memory; tf32 is stored as fp32.
Bytes size_of(Precision precision);
// Products alone take one-byte operands: what is around them, and their results, stay in two bytes (bf16).
bool is_of_products_only(Precision precision);

}  // namespace orrery
