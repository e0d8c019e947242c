// SPDX-License-Identifier: MIT
// Text for scripts and commands that a POSIX shell reads.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

// The text in quotes, as one word, whatever it contains.
std::string shell_quoted(std::string_view text);
// The text as one word: as it is where no shell could take it for anything else (a path, a number, "a.b=1"), in quotes
// otherwise.
std::string shell_word(std::string_view text);
// The text as one word of a command on the screen; `instead` where it has characters that no screen shows, or too many,
// and for standard input, which has been read by then.
std::string shown_shell_word(std::string_view text, std::string_view instead = "FILE");

}  // namespace orrery
