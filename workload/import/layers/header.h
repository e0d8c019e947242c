// The first line of a text workload: the parallelism and what follows it, `key: value`.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "workload/import/layers/lines.h"
#include "workload/import/layers/text.h"

namespace orrery {

// A size in bytes, without a unit; Python writes it as a fraction: 8388608.0. Nothing, with an error, where it is none
// or more than a message may have.
std::optional<Bytes> read_text_size(const std::string& file, int line, const TextWord& word, Diagnostics& diagnostics);

// Nothing when the parallelism is none that is known; other errors go to `diagnostics` too.
std::optional<TextHeader> read_text_header(const std::string& file, const TextLine& line, TextDialect dialect,
                                           Diagnostics& diagnostics);

}  // namespace orrery
