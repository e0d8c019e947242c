// SPDX-License-Identifier: MIT
// Well-formed UTF-8, and text that people write: what may be printed, and what a configuration file may hold.
#pragma once

#include <cstddef>
#include <string_view>

namespace orrery {

// Length of the well-formed UTF-8 sequence at the start of `text`, which is not empty; 0 if there is none.
std::size_t utf8_length(std::string_view text);

// True if the whole text is well-formed UTF-8 (Unicode 15, table 3-7).
bool is_utf8(std::string_view text);

// Offset of the first byte that no text has (a control character other than tab and line breaks, or malformed UTF-8);
// npos if there is none.
std::size_t first_non_text(std::string_view text);

}  // namespace orrery
