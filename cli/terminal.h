// SPDX-License-Identifier: MIT
// The terminal: how wide it is, and colours. This alone decides whether there are any; texts in files never have them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace orrery::cli {

// Columns for which answers are laid out: those of the terminal that standard output is, as the variable COLUMNS or the
// terminal itself says; otherwise 80, so that the same command writes the same bytes.
std::size_t answer_columns();

// True if what is written there (1: answers, 2: messages) is coloured: on a terminal that is not "dumb", unless
// NO_COLOR is set; anywhere if CLICOLOR_FORCE is.
bool has_colours(int file_descriptor);

// The figure that an answer begins with in bold, or the headings of its first table; what is slower in red, faster in
// green; points that were refused in yellow.
std::string coloured_answer(std::string_view text);

enum class MessageKind { kError, kWarning, kOther };
// The word "error" in red or "warning" in yellow, and hints dim.
std::string coloured_message(std::string_view text, MessageKind kind);

}  // namespace orrery::cli
