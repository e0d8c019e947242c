// SPDX-License-Identifier: MIT
#include "cli/slips.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/config/other_names.h"
#include "core/config/tree.h"
#include "core/error.h"
#include "core/files/shell_word.h"

namespace orrery::cli {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Keys by the option that other programs have for them, beside those that other_names.h knows.
constexpr std::array<Pair, 19> kKeys = {{{"n", "nodes"},
                                         {"N", "nodes"},
                                         {"num_nodes", "nodes"},
                                         {"nnodes", "nodes"},
                                         {"cluster", "cluster"},
                                         {"device", "cluster.node.device"},
                                         {"model", "workload.model"},
                                         {"tokens", "workload.tokens"},
                                         {"price", "workload.price"},
                                         {"optimizer", "workload.optimizer"},
                                         {"precision", "workload.precision"},
                                         {"recompute", "workload.recompute"},
                                         {"software", "workload.software"},
                                         {"zero", "workload.parallel.zero"},
                                         {"schedule", "workload.schedule.kind"},
                                         {"sequence", "workload.model.sequence"},
                                         {"network", "network.model"},
                                         {"library", "collectives.library"},
                                         {"placement", "placement"}}};

// Hints that are no setting.
constexpr std::array<Pair, 5> kOptions = {
    {{"no_fold", "--set fold=off"},
     {"gpus", "--set nodes=N: the cluster says how many devices a node has"},
     {"num_gpus", "--set nodes=N: the cluster says how many devices a node has"},
     {"vary", "the file of a sweep has its axes: vary: [{key: nodes, values: [2, 4]}]"},
     {"size", "sizes go from -b to -e, as those of nccl-tests do: -b 1G"}}};

constexpr std::array<Pair, 10> kCommandNames = {{{"simulate", "run"},
                                                 {"sim", "run"},
                                                 {"start", "run"},
                                                 {"benchmark", "collective"},
                                                 {"bench", "collective"},
                                                 {"nccl", "collective"},
                                                 {"diff", "compare"},
                                                 {"optimize", "search"},
                                                 {"fit", "calibrate"},
                                                 {"why", "explain"}}};

const Pair* find_pair(std::span<const Pair> pairs, std::string_view word) {
  const auto found = std::ranges::find(pairs, word, &Pair::first);
  return found == pairs.end() ? nullptr : &*found;
}

bool is_file_name(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

}  // namespace

std::string hint_for_option(std::string_view option, std::string_view next) {
  std::string name(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::string value(next.starts_with('-') ? std::string_view() : next);
  if (const std::size_t equals = name.find('='); equals != std::string::npos) {
    value = name.substr(equals + 1);
    name.resize(equals);
  }
  std::ranges::replace(name, '-', '_');
  if (const Pair* hint = find_pair(kOptions, name)) return std::string(hint->second);
  const Pair* key = find_pair(kKeys, name);
  const std::string path = key != nullptr ? std::string(key->second) : plain_path(name);
  if (key == nullptr && path == name) return {};
  return "--set " + shown_shell_word(fmt::format("{}={}", path, value.empty() ? "VALUE" : value), path + "=VALUE");
}

std::string hint_for_argument(std::string_view word) {
  const std::size_t equals = word.find('=');
  return equals == std::string_view::npos || equals == 0 ? std::string()
                                                         : "--set " + shown_shell_word(word, "KEY=VALUE");
}

std::string hint_for_command(std::string_view word) {
  if (is_file_name(word)) return fmt::format("orrery run {}", shown_shell_word(word));
  const Pair* command = find_pair(kCommandNames, word);
  return command == nullptr ? std::string() : fmt::format("did you mean '{}'?", command->second);
}

std::string hint_for_setting(std::string_view setting) {
  const std::size_t end = setting.find_first_of(": ");
  const std::size_t value = setting.find_first_not_of(": ", end);
  if (end != std::string_view::npos && end > 0 && value != std::string_view::npos)
    return fmt::format("write {}={}", printable(setting.substr(0, end), 60), printable(setting.substr(value), 60));
  return fmt::format("key and value are one word: {}=VALUE", printable(setting, 60));
}

}  // namespace orrery::cli
