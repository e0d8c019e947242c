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

enum class Precision : std::uint8_t { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kMxfp8, kNvfp4, kInt8 };

inline constexpr std::array kAllPrecisions = {Precision::kFp64,  Precision::kFp32,  Precision::kTf32,
                                              Precision::kFp16,  Precision::kBf16,  Precision::kFp8,
                                              Precision::kMxfp8, Precision::kNvfp4, Precision::kInt8};

std::string_view name_of(Precision precision);  // "fp64", "fp32", ...
std::vector<std::string> precision_names();     // in the order of kAllPrecisions
// Values of a format that share a scale of one byte, which is stored with them: those of mxfp8 (E8M0) and nvfp4 (E4M3).
// 0: the format has no scales of its own.
std::int64_t values_of_scale(Precision precision);
// Size of one number in memory without its scale; tf32 is stored as fp32.
std::int64_t bits_of(Precision precision);
// The same in bytes, rounded up: 1 of nvfp4.
Bytes size_of(Precision precision);
// Size of so many numbers in memory with the scales of their format, rounded up.
Bytes stored(Precision precision, std::int64_t values);
// Products alone take operands of one byte or less: what is around them, and their results, stay in two bytes (bf16).
bool is_of_products_only(Precision precision);

}  // namespace orrery
