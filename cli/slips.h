// SPDX-License-Identifier: MIT
// Hints for words of a command line that nothing knows: an option that is a key of experiments, a setting without its
// --set, a command by another name.
#pragma once

#include <string>
#include <string_view>

namespace orrery::cli {

// Hint at what to write in place of an unknown option such as "--tp"; `next` is the word behind it, or empty. Of a
// command that takes --set. Empty where the option stands for no key.
std::string hint_for_option(std::string_view option, std::string_view next);

// Hint at what to write in place of a word that a command has no place for, such as "nodes=4"; empty if nothing is
// likely.
std::string hint_for_argument(std::string_view word);

// Hint at what to write in place of a command that is none: "simulate", "job.yaml"; empty if nothing is likely.
std::string hint_for_command(std::string_view word);

// Hint at what to write in place of a setting that has no '=': "nodes", "nodes:4", "nodes 4".
std::string hint_for_setting(std::string_view setting);

}  // namespace orrery::cli
