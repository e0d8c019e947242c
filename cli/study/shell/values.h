// SPDX-License-Identifier: MIT
// Names that may stand for the value of an argument: of clusters, models, figures, keys of an experiment. Shells ask
// for them while a command line is typed: `orrery complete KIND TEXT` prints those that begin with the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/tree.h"

namespace orrery::cli::shell {

// The kind of names of an argument ("--cluster", or the name of a positional); empty if it takes none. `type` is what
// its help calls the value.
std::string_view values_of(std::string_view argument, std::string_view type);
// True if files stand beside the names of a kind.
bool is_beside_files(std::string_view kind);

// Words of a kind that begin with `text`; of a list ("a,b") those that go on with its last word. Keys of experiments
// are completed part by part, and values behind "KEY=" where the key names them. Empty of an unknown kind.
std::vector<std::string> completed_values(std::string_view kind, std::string_view text, const ConfigFiles& files);

}  // namespace orrery::cli::shell
