// SPDX-License-Identifier: MIT
#include "study/compare/no_difference.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "network/fabric/caps.h"
#include "report/fold_check.h"
#include "study/benchmark/study.h"
#include "study/compare/compare.h"

namespace orrery::study {
namespace {

// "cluster.dims[].size" of "cluster.dims[0].size".
std::string without_indices(std::string_view path) {
  std::string text;
  bool is_index = false;
  for (const char c : path) {
    if (c == ']') is_index = false;
    if (!is_index) text += c;
    if (c == '[') is_index = true;
  }
  return text;
}

std::string_view parent_of(std::string_view path) { return path.substr(0, std::min(path.rfind('.'), path.size())); }

bool is_below(std::string_view path, std::string_view section) {
  return path == section || (path.size() > section.size() && path.starts_with(section) &&
                             (path[section.size()] == '.' || path[section.size()] == '['));
}

// Whether nobody has written the value that a path leads to.
bool is_default(const ConfigValue& root, const std::string& path) {
  const ConfigValue* place = &root;
  for (const std::string& part : split_key_path(path)) {
    if (const ConfigEntry* entry = place->find(part)) {
      if (!entry->defaulted.empty()) return true;
      place = &entry->value;
    } else if (const auto index = parse_whole_number(part);
               index && *index >= 0 && static_cast<std::size_t>(*index) < place->items.size()) {
      place = &*std::next(place->items.begin(), *index);
    } else {
      return true;
    }
  }
  return false;
}

// Keys that somebody has written on one side at least; all where defaults alone differ.
std::vector<SettingDifference> written_changes(const EqualPair& pair) {
  std::vector<SettingDifference> changes = differing_settings(pair.first.resolved, pair.second.resolved);
  std::vector<SettingDifference> written;
  std::ranges::copy_if(changes, std::back_inserter(written), [&](const SettingDifference& one) {
    return !is_default(pair.first.resolved, one.key) || !is_default(pair.second.resolved, one.key);
  });
  return written.empty() ? changes : written;
}

const IdleKey* idle_key(const experiment::Experiment& experiment, const std::string& path) {
  const std::string plain = without_indices(path);
  const auto found = std::ranges::find_if(
      experiment.idle_keys, [&](const IdleKey& idle) { return is_below(plain, without_indices(idle.path)); });
  return found == experiment.idle_keys.end() ? nullptr : &*found;
}

// Why the key changes nothing by itself, whatever it is set to. One that a side has not got says nothing there.
std::optional<NoDifference> idle_reason(const EqualPair& pair, const SettingDifference& change) {
  const IdleKey* first = idle_key(pair.first, change.key);
  const IdleKey* second = idle_key(pair.second, change.key);
  const bool has_first = change.first != "-", has_second = change.second != "-";
  if ((has_first && first == nullptr) || (has_second && second == nullptr)) return std::nullopt;
  const IdleKey* idle = has_second ? second : first;
  return NoDifference{{change.key}, idle->reason, idle->remedy, true};
}

// A class of links of both fabrics whose bandwidth differs.
struct ChangedLinks {
  std::size_t link_class = 0;
  std::string key;
};

std::vector<Bandwidth> bandwidths_of(const network::Fabric& fabric, std::size_t link_class) {
  std::vector<Bandwidth> bandwidths;
  for (const network::Link& link : fabric.link_kinds())
    if (link.link_class == link_class) bandwidths.push_back(link.bandwidth);
  return bandwidths;
}

std::vector<ChangedLinks> changed_links(const network::Fabric& first, const network::Fabric& second) {
  std::vector<ChangedLinks> changed;
  if (!std::ranges::equal(first.link_classes(), second.link_classes())) return changed;
  for (std::size_t link_class = 0; link_class < first.link_classes().size(); ++link_class)
    if (bandwidths_of(first, link_class) != bandwidths_of(second, link_class))
      changed.push_back({link_class, first.link_keys()[link_class]});
  return changed;
}

// Links that a key sets: those whose bandwidth it is, else those of its section; all that differ, if no other key does.
std::vector<ChangedLinks> links_of(const std::string& key, const std::vector<ChangedLinks>& changed, bool is_only) {
  std::vector<ChangedLinks> found;
  const auto take = [&](const auto& is_of) {
    if (found.empty()) std::ranges::copy_if(changed, std::back_inserter(found), is_of);
  };
  take([&](const ChangedLinks& links) { return links.key == key; });
  take([&](const ChangedLinks& links) { return !links.key.empty() && is_below(key, parent_of(links.key)); });
  if (is_only) take([](const ChangedLinks&) { return true; });
  return found;
}

// What keeps all of these links from being full in both fabrics; the least.
std::optional<network::LinkCap> common_cap(const EqualPair& pair, const std::vector<ChangedLinks>& links) {
  std::optional<network::LinkCap> least;
  for (const ChangedLinks& one : links)
    for (const experiment::Experiment* side : {&pair.first, &pair.second}) {
      const std::optional<network::LinkCap> cap = network::cap_of(side->fabric, one.link_class);
      if (!cap || cap->together > cap->least) return std::nullopt;
      if (!least || cap->together < least->together) least = cap;
    }
  return least;
}

std::vector<std::string> names_of(const network::Fabric& fabric, const std::vector<ChangedLinks>& links) {
  std::vector<std::string> names;
  for (const ChangedLinks& one : links) {
    std::string name = without_direction(fabric.link_classes()[one.link_class]);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

// What of a changed operation nobody sees.
constexpr std::string_view kHidden =
    "operations take other times, but none that the iteration waits for: others hide them";

NoDifference link_reason(const EqualPair& pair, const std::string& key, const std::vector<ChangedLinks>& links) {
  const network::Fabric& fabric = pair.second.fabric;
  const std::vector<std::string> names = names_of(fabric, links);
  const std::string all = fmt::format("'{}'", fmt::join(names, "', '"));
  if (std::ranges::none_of(names, [&](const std::string& name) { return pair.used_links.contains(name); }))
    return {{key}, fmt::format("it sets the links {}, which no message of the job crosses", all), {}, false};
  if (const std::optional<network::LinkCap> cap = common_cap(pair, links)) {
    const std::string& by = fabric.link_keys()[cap->by];
    return {{key},
            fmt::format("it sets the links {}, and all that crosses these also crosses '{}', which carry {}", all,
                        without_direction(fabric.link_classes()[cap->by]), rounded(cap->together)),
            by.empty() || by == key ? std::string() : fmt::format("change '{}' with it", by),
            false};
  }
  const std::string sets = fmt::format("it sets the links {}", all);
  switch (pair.operations) {
    case OperationTimes::kOther:
      return {{key}, fmt::format("{}: {}", sets, kHidden), {}, false};
    case OperationTimes::kSame:
      return {{key},
              fmt::format("{}, which bound no operation: latencies, other links or the library's own limits do", sets),
              {},
              false};
    case OperationTimes::kUnknown:
      break;
  }
  return {{key}, fmt::format("{}, which nothing that the iteration waits for is bound by", sets), {}, false};
}

// What `orrery list keys` says of it; "" of none.
std::string meaning_of(const std::string& key, const std::vector<KeyDescription>& keys) {
  const std::vector<std::string> parts = split_key_path(without_indices(key));
  const auto is_it = [&](const KeyDescription& known) {
    const std::vector<std::string> others = split_key_path(known.path);
    return std::ranges::equal(others, parts, [](const std::string& other, const std::string& part) {
      return other == part || other.starts_with('<');
    });
  };
  const auto found = std::ranges::find_if(keys, is_it);
  return found == keys.end() ? std::string() : found->meaning;
}

NoDifference other_reason(const EqualPair& pair, const std::string& key, const std::vector<KeyDescription>& keys) {
  if (pair.operations == OperationTimes::kOther) return {{key}, std::string(kHidden), {}, false};
  const std::string meaning = meaning_of(key, keys);
  return {{key},
          fmt::format("no operation that the iteration waits for depends on it{}",
                      meaning.empty() ? std::string() : fmt::format(" here (it is: {})", meaning)),
          {},
          false};
}

void add(std::vector<NoDifference>& reasons, NoDifference reason) {
  const auto same = std::ranges::find_if(
      reasons, [&](const NoDifference& one) { return one.reason == reason.reason && one.remedy == reason.remedy; });
  if (same == reasons.end())
    reasons.push_back(std::move(reason));
  else
    same->keys.push_back(reason.keys.front());
}

std::set<std::string> used_links(const experiment::Run& run) {
  std::set<std::string> used;
  for (const report::LinkClassUse& use : run.result.links)
    if (use.bytes > 0) used.insert(without_direction(use.name));
  return used;
}

}  // namespace

OperationTimes operation_times(const experiment::Run& first, const experiment::Run& second) {
  const bool is_alike = first.acting.size() == second.acting.size();
  return is_alike && !report::first_difference({first.log, first.acting}, {second.log, second.acting})
             ? OperationTimes::kSame
             : OperationTimes::kOther;
}

std::vector<NoDifference> why_no_difference(const EqualPair& pair, const ConfigFiles& files) {
  std::vector<NoDifference> reasons;
  const std::vector<SettingDifference> changes = written_changes(pair);
  const std::vector<ChangedLinks> changed = changed_links(pair.first.fabric, pair.second.fabric);
  std::vector<KeyDescription> keys;  // listed once, if at all
  for (const SettingDifference& change : changes) {
    if (std::optional<NoDifference> idle = idle_reason(pair, change)) {
      add(reasons, std::move(*idle));
      continue;
    }
    const std::vector<ChangedLinks> links = links_of(change.key, changed, changes.size() == 1);
    if (!links.empty()) {
      add(reasons, link_reason(pair, change.key, links));
      continue;
    }
    if (keys.empty()) keys = experiment::describe_configuration(files);
    add(reasons, other_reason(pair, change.key, keys));
  }
  return reasons;
}

std::vector<NoDifference> why_no_difference(const experiment::RunRequest& first, const experiment::Run& first_run,
                                            const experiment::RunRequest& second, const experiment::Run& second_run,
                                            const ConfigFiles& files) {
  Diagnostics told;  // by the runs
  const experiment::Experiment of_first = experiment::load_experiment(first.file, first.settings, files, told);
  const experiment::Experiment of_second = experiment::load_experiment(second.file, second.settings, files, told);
  std::set<std::string> used = used_links(first_run);
  used.merge(used_links(second_run));
  return why_no_difference({of_first, of_second, std::move(used), operation_times(first_run, second_run)}, files);
}

std::string to_text(const NoDifference& one) {
  constexpr std::size_t kMost = 3;
  std::string keys;
  for (std::size_t i = 0; i < std::min(kMost, one.keys.size()); ++i)
    keys += fmt::format("{}{}", i == 0 ? "" : ", ", printable(one.keys[i]));
  if (one.keys.size() > kMost) keys += fmt::format(" and {} more", one.keys.size() - kMost);
  return fmt::format("{}: {}{}{}", keys, one.reason, one.remedy.empty() ? "" : "; ", one.remedy);
}

}  // namespace orrery::study
