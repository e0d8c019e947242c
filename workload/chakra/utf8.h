// Is a text UTF-8? proto3 requires it of every string.
#pragma once

#include <string_view>

namespace orrery {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF (Unicode 15, table 3-7).
bool is_utf8(std::string_view text);

}  // namespace orrery
