// The first line of a text workload: the parallelism and what follows it, `key: value`.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "workload/import/text_lines.h"
#include "workload/import/text_workload.h"

namespace orrery {

// Nothing when the parallelism is none that is known; other errors go to `diagnostics` too.
std::optional<TextHeader> read_text_header(const std::string& file, const TextLine& line, TextDialect dialect,
                                           Diagnostics& diagnostics);

}  // namespace orrery
