// SPDX-License-Identifier: MIT
// Paths of keys, and the folders in which what they name is looked up.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/config/key_path.h"
#include "core/suggest.h"

namespace orrery {
namespace {

constexpr std::size_t kMostPaths = 5;  // that a hint names

std::vector<std::string> split_at_dots(std::string_view path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.' || c == '[')
      parts.emplace_back();  // `dims[0]` is `dims.0`
    else if (c != ']')
      parts.back() += c;
  }
  return parts;
}

// A map whose keys are names that may have dots in them, and what may stand below such a name: where it ends.
struct MapOfNames {
  std::string_view path;
  std::span<const std::string_view> below;
};
constexpr std::array<std::string_view, 5> kBelowLinks = {"bandwidth", "latency", "at", "traffic", "dead"};
constexpr std::array<MapOfNames, 2> kMapsOfNames = {{{"perturb.links.", kBelowLinks}, {"perturb.nics.", kBelowLinks}}};

// Length of the name at the start of a path: that of "nic.up" in "nic.up.traffic.most".
std::size_t length_of_name(std::string_view path, std::span<const std::string_view> below) {
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    const std::string_view rest = path.substr(dot + 1);
    if (std::ranges::find(below, rest.substr(0, rest.find_first_of(".["))) != below.end()) return dot;
  }
  return path.size();
}

}  // namespace

std::string_view folder_of_key(std::string_view key) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kFolders = {{
      {"cluster", "clusters"},
      {"constants", "libraries"},
      {"device", "devices"},
      {"dispatch", "dispatch"},
      {"host_link", "links"},
      {"link", "links"},
      {"model", "models"},
      {"network", "networks"},
      {"node", "nodes"},
      {"nvlink", "links"},
      {"optimizer", "optimizers"},
      {"pcie", "links"},
      {"recipe", "recipes"},
      {"software", "software"},
  }};
  const auto found = std::ranges::find(kFolders, key, &std::pair<std::string_view, std::string_view>::first);
  return found == kFolders.end() ? std::string_view{} : found->second;
}

std::vector<std::string> split_key_path(std::string_view path) {
  const auto names = std::ranges::find_if(kMapsOfNames, [&](const MapOfNames& m) { return path.starts_with(m.path); });
  if (names == kMapsOfNames.end()) return split_at_dots(path);
  std::vector<std::string> parts = split_at_dots(names->path.substr(0, names->path.size() - 1));
  path.remove_prefix(names->path.size());
  const std::size_t length = length_of_name(path, names->below);
  parts.emplace_back(path.substr(0, length));
  if (length == path.size()) return parts;
  for (std::string& part : split_at_dots(path.substr(length + 1))) parts.push_back(std::move(part));
  return parts;
}

bool check_depth(std::string_view path, const Location& where, Diagnostics& diagnostics) {
  const std::size_t keys = split_key_path(path).size();
  if (keys > kDeepestValue)
    diagnostics.error(where, fmt::format("a path of {} keys; none is longer than {}", keys, kDeepestValue),
                      "orrery list keys names all keys");
  return keys <= kDeepestValue;
}

ConfigValue* value_at_path(ConfigValue& root, std::string_view path) {
  ConfigValue* value = &root;
  if (path.empty()) return value;
  for (const std::string& step : split_key_path(path))
    if (value != nullptr) value = element_of(*value, step);
  return value;
}

const ConfigValue* value_at_path(const ConfigValue& root, std::string_view path) {
  return value_at_path(const_cast<ConfigValue&>(root), path);  // which nothing here writes to
}

std::vector<std::string> key_names(const ConfigFiles& files, const Section::Read& read) {
  std::vector<std::string> names;
  for (const KeyDescription& key : list_keys(files, read)) {
    std::string name = key.path.substr(0, key.path.find_first_of(".["));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> paths_with(std::string part, const std::string& section,
                                    const std::vector<std::string>& paths) {
  if (std::ranges::count(part, '.') > std::ptrdiff_t{kDeepestValue}) return {};
  for (; !part.empty(); part.resize(part.find('.') == std::string::npos ? 0 : part.rfind('.')))
    for (const std::string& above : {section, std::string()}) {
      std::vector<std::string> found;
      for (const std::string& path : paths)
        if ((path == part || path.ends_with("." + part)) && (above.empty() || path.starts_with(above + ".")) &&
            std::ranges::find(found, path) == found.end())  // a key of several forms is declared once for each
          found.push_back(path);
      std::ranges::stable_sort(found, {}, [](const std::string& path) { return std::ranges::count(path, '.'); });
      if (!found.empty()) return found.size() > kMostPaths ? std::vector<std::string>{} : found;
    }
  return {};
}

std::vector<std::string> paths_spelt(std::string_view key, const std::string& section,
                                     const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const std::string& path : paths)
    if ((section.empty() || path.starts_with(section + ".")) &&
        plain_name(path.substr(path.rfind('.') + 1)) == plain_name(key) &&
        std::ranges::find(found, path) == found.end())
      found.push_back(path);
  return found.size() > kMostPaths ? std::vector<std::string>{} : found;
}

}  // namespace orrery
