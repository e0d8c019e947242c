// SPDX-License-Identifier: MIT
// Keys of experiments by the names that launchers and people have for them: "gbs" is "workload.batch.global".
#pragma once

#include <string>
#include <string_view>

#include "core/config/tree.h"

namespace orrery {

// The path of a key that has another name, of an experiment's root: "workload.batch.global" of "gbs", "workload.gbs"
// and "workload.batch.gbs", "jobs.0.workload.batch.global" of "jobs[0].workload.gbs". Any other path as it is.
std::string plain_path(std::string_view path);

// Hint for a map of keys that has a word in its place: "write workload.schedule.kind: 1f1b"; empty for maps of which no
// key is the main one.
std::string hint_for_word(std::string_view path, std::string_view word);

// Puts keys of an experiment that stand under another name where they belong. A key that is there under two names is an
// error.
void spell_out_names(ConfigValue& root, const ConfigFiles& files, Diagnostics& diagnostics);

}  // namespace orrery
