// SPDX-License-Identifier: MIT
// Values relative to those that a configuration has: "x1.5" is one and a half times what the key says, be it a quantity
// or a number. The unit stays as it is, and decimals stay exact: twice "200 Gb/s" is "400 Gb/s", half of 8 is 4.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/quantity_text.h"
#include "core/config/tree.h"

namespace orrery {

// "1.5" of "x1.5": what stands behind an x before a number. Nothing of any other text.
std::optional<std::string_view> factor_of(std::string_view text);

// `text`, a number with or without a unit, times `factor`, a positive decimal number.
Parsed<std::string> multiplied(std::string_view text, std::string_view factor);

// `from`, `from` times `factor`, that times `factor` and so on up to `to`: in the unit of `from`. Both may be relative
// ("x0.5"); `factor` is above 1. At most 1,000 values.
Parsed<std::vector<std::string>> geometric_range(std::string_view from, std::string_view to, std::string_view factor);

// Multiplies the value that `path` leads to; names of files on the way are expanded. A value that is only a default is
// the one that `resolve` has, if there is one. Problems stand at `where`, and so does the new value.
void multiply_value(ConfigValue& root, std::string_view path, std::string_view factor, const Location& where,
                    const ConfigFiles& files, Diagnostics& diagnostics, const ResolveConfig& resolve);

}  // namespace orrery
