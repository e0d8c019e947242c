// SPDX-License-Identifier: MIT
// Decimal numbers of text as integers of a smaller unit, exactly: a double has too few digits for nanoseconds since
// 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::workload {

// `text` times 1000, rounded to nearest: microseconds to nanoseconds. "-1", "12.3456" and "1.5e3" are numbers. Nothing
// when it is none or does not fit.
std::optional<std::int64_t> thousandths(std::string_view text);

}  // namespace orrery::workload
