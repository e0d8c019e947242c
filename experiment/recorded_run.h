// SPDX-License-Identifier: MIT
// A result that a run wrote, as an experiment: `orrery run result.json` makes it again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/config/tree.h"
#include "report/result.h"

namespace orrery::experiment {

struct RecordedRun {
  std::filesystem::path folder;  // the working directory of the recorded run as far as it matters; empty: this one
  ConfigValue experiment;        // resolved; its paths start from the file of then, seen from here
  report::ResultSource source;
  std::string version;                    // of the program that wrote it
  std::string by_hand;                    // Result::by_hand, which the resolved experiment no longer tells
  std::vector<std::string> not_compared;  // NearestRun::not_compared, likewise
};

bool is_result(const std::string& path, const ConfigFiles& files);

// Nothing if the file is no result. InputError if it is one and cannot be read, or if the traces that it was made from
// are not to be found: from the working directory, from that of the recorded run, or from a folder around the document.
std::optional<RecordedRun> load_recorded_run(const std::string& path, const ConfigFiles& files);

// True for a document that orrery wrote, as opposed to a configuration.
bool is_document(const ConfigValue& root);

// True if the file is a profile of torch.profiler or a PyTorch execution trace.
bool is_profile_file(const std::string& path);

// Configuration in `file`: an experiment, that of a result, or one that replays a profile. Problems go to `diagnostics`
// or are thrown as InputError.
ConfigValue load_configuration(const std::string& file, const ConfigFiles& files, Diagnostics& diagnostics);

// Source of a run of the recorded experiment. `made`: what this program says of itself. A data file that has changed
// since is a warning.
report::ResultSource source_of(const RecordedRun& recorded, const report::ResultSource& made, Diagnostics& diagnostics);

}  // namespace orrery::experiment
