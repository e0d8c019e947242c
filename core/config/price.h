// SPDX-License-Identifier: MIT
// Prices as people write them: "2.50", "$2.50", "2.50 USD/h". A price is in any currency, which is the reader's.
#pragma once

#include <string_view>

#include "core/config/config.h"
#include "core/config/quantity_text.h"

namespace orrery {

// kOnce: of a thing. kHour: of an hour of it, which the text may say.
enum class PriceOf : std::uint8_t { kOnce, kHour };

// Number that is left without a currency, and without "/h" or "per hour" where it is of an hour.
Parsed<double> parse_price(std::string_view text, PriceOf of);

// The price that key `key` of a section has as this text; nothing after an error.
std::optional<double> price_of(Section& section, std::string_view key, std::string_view text, PriceOf of);

// Reads key `key` of a section, which holds a price; nothing where it is not there, or after an error.
std::optional<double> read_price(Section& section, std::string_view key, PriceOf of, std::string_view meaning);

}  // namespace orrery
