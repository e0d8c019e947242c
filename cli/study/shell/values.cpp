// SPDX-License-Identifier: MIT
#include "cli/study/shell/values.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "collectives/algorithms.h"
#include "collectives/libraries.h"
#include "collectives/nccl/options.h"
#include "core/error.h"
#include "experiment/experiment.h"
#include "experiment/launchers/launcher.h"
#include "report/figures.h"
#include "study/benchmark/algorithms.h"
#include "study/search/plan.h"
#include "study/sweep/columns.h"
#include "workload/calls/operation.h"

namespace orrery::cli::shell {
namespace {

using Words = std::vector<std::string>;

struct ArgumentValues {
  std::string_view argument;
  std::string_view kind;
};
// Arguments by the long name of the option, or that of the positional.
constexpr std::array kArguments = std::to_array<ArgumentValues>({
    {"--algo", "algorithms"},
    {"--cluster", "clusters"},
    {"--device", "devices"},
    {"--figure", "figures"},
    {"--fix", "plans"},
    {"--launch", "launches"},
    {"--launcher-flags", "launchers"},
    {"--library", "libraries"},
    {"--model", "models"},
    {"--op", "operations"},
    {"--print", "figures"},
    {"--proto", "protocols"},
    {"--set", "settings"},
    {"--show", "columns"},
    {"--software", "software"},
    {"--sort", "order"},
    {"--vary", "plans"},
    {"--vs", "settings"},
    {"cluster", "clusters"},
    {"model", "models"},
});

// Folders of configs/ that arguments name files of, and files of the reader's own beside them.
constexpr std::array<std::string_view, 4> kBesideFiles = {"clusters", "devices", "models", "software"};

template <class Range, class NameOf>
Words names_of(const Range& range, NameOf name_of) {
  Words names;
  for (const auto& one : range) names.emplace_back(name_of(one));
  return names;
}

Words algorithm_names() {
  Words names = names_of(collectives::algorithms(), [](const auto& one) { return one.name; });
  std::ranges::copy(names_of(collectives::algorithm_aliases(), [](const auto& one) { return one.name; }),
                    std::back_inserter(names));
  std::ranges::copy(collectives::nccl_algorithm_names(), std::back_inserter(names));
  names.emplace_back(study::kEachAlgorithm);
  return names;
}

// Figures that lines of tables are sorted by: the best first, or the worst.
Words orders() {
  Words names = names_of(study::sweep_columns(), [](const auto& one) { return one.name; });
  for (const report::Figure* figure : report::keyed_figures()) names.emplace_back(figure->key);
  const std::size_t count = names.size();
  for (std::size_t i = 0; i < count; ++i) names.push_back("-" + names[i]);
  return names;
}

Words names_of_kind(std::string_view kind, const ConfigFiles& files) {
  if (kind == "algorithms") return algorithm_names();
  if (kind == "columns") return names_of(study::sweep_columns(), [](const auto& one) { return one.name; });
  if (kind == "figures") return names_of(report::figures(), [](const auto& one) { return one.name(); });
  if (kind == "launchers") return names_of(experiment::kLauncherNames, [](auto name) { return name; });
  if (kind == "launches") return collectives::launch_mode_names();
  if (kind == "libraries") return collectives::library_names();
  if (kind == "operations") return names_of(workload::call_operations(), [](const auto& one) { return one.name; });
  if (kind == "order") return orders();
  if (kind == "plans") return names_of(study::plan_key_names(), [](const std::string& name) { return name + "="; });
  if (kind == "protocols") return collectives::nccl_protocol_names();
  return std::ranges::find(kBesideFiles, kind) != kBesideFiles.end() ? files.names(std::string(kind)) : Words{};
}

bool is_word(std::string_view text) { return !text.empty() && text.find(' ') == std::string_view::npos; }

// Values that a key names: "ring | switch" as words, "map, path or name in models" as the names there.
Words values_of_type(const std::string& type, const ConfigFiles& files) {
  constexpr std::string_view kNameIn = "name in ";
  if (const std::size_t at = type.find(kNameIn); at != std::string::npos)
    return files.names(type.substr(at + kNameIn.size()));
  Words words;
  std::string_view rest = type;
  if (rest.find(" | ") == std::string_view::npos) return words;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(" | "));
    rest.remove_prefix(std::min(rest.size(), word.size() + 3));
    if (is_word(word) && word.find('(') == std::string_view::npos) words.emplace_back(word);
  }
  return words;
}

// The path of a key as one writes it: "cluster.dims.0.bandwidth" of "cluster.dims[].bandwidth". Empty where a part is a
// name of the reader's own.
std::string written(std::string path) {
  if (path.find('<') != std::string::npos) return {};
  for (std::size_t at = 0; (at = path.find("[]", at)) != std::string::npos;) path.replace(at, 2, ".0");
  return path;
}

// The path with numbers of list elements as "0", so that it is the one that `written` gives.
std::string of_first_elements(std::string_view path) {
  std::string text;
  while (true) {
    const std::string_view part = path.substr(0, path.find('.'));
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    text += is_number ? std::string_view("0") : part;
    if (part.size() == path.size()) return text;
    text += '.';
    path.remove_prefix(part.size() + 1);
  }
}

Words settings(std::string_view text, const ConfigFiles& files) {
  const std::vector<KeyDescription> keys = experiment::describe_configuration(files);
  std::set<std::string> found;
  if (const std::size_t equal = text.find('='); equal != std::string_view::npos) {
    const std::string key = of_first_elements(text.substr(0, equal));
    for (const KeyDescription& one : keys)
      if (written(one.path) == key)
        for (const std::string& value : values_of_type(one.type, files))
          found.insert(std::string(text.substr(0, equal + 1)) + value);
    return {found.begin(), found.end()};
  }
  const std::string given = of_first_elements(text);
  std::set<std::string> whole;  // keys that a value may stand behind, as far as others do not begin with them
  for (const KeyDescription& one : keys) {
    const std::string path = written(one.path);
    if (path.empty() || !path.starts_with(given)) continue;
    const std::size_t dot = path.find('.', given.size());
    const std::string next(text);
    if (dot != std::string::npos)
      found.insert(next + path.substr(given.size(), dot + 1 - given.size()));
    else if (one.type.starts_with("map") && one.type.find("name in") == std::string::npos)
      whole.insert(next + path.substr(given.size()));
    else
      found.insert(next + path.substr(given.size()) + "=");
  }
  for (const std::string& key : whole)
    if (!found.contains(key + ".")) found.insert(key + "=");
  return {found.begin(), found.end()};
}

}  // namespace

std::string_view values_of(std::string_view argument, std::string_view type) {
  if (type == "FILE" || type == "DIR") return {};
  const auto* found = std::ranges::find(kArguments, argument, &ArgumentValues::argument);
  return found == kArguments.end() ? std::string_view() : found->kind;
}

bool is_beside_files(std::string_view kind) { return std::ranges::find(kBesideFiles, kind) != kBesideFiles.end(); }

std::vector<std::string> completed_values(std::string_view kind, std::string_view text, const ConfigFiles& files) {
  Words words;
  if (kind == "settings") {
    words = settings(text, files);
  } else {
    const std::string before(text.substr(0, text.rfind(',') + 1));
    for (const std::string& name : names_of_kind(kind, files)) words.push_back(before + name);
  }
  std::set<std::string> fitting;
  for (const std::string& word : words)
    if (word.starts_with(text)) fitting.insert(word);
  return {fitting.begin(), fitting.end()};
}

}  // namespace orrery::cli::shell
