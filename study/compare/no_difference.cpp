// SPDX-License-Identifier: MIT
#include "study/compare/no_difference.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "experiment/warnings.h"
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

// True if nobody has written the value that a path leads to.
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

// Reason why the key by itself changes nothing, whatever its value. One that a side has not got says nothing there.
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

// Links of the set that messages of the job cross.
std::vector<ChangedLinks> crossed(const EqualPair& pair, std::vector<ChangedLinks> links) {
  std::erase_if(links, [&](const ChangedLinks& one) {
    return !pair.used_links.contains(network::without_direction(pair.second.fabric.link_classes()[one.link_class]));
  });
  return links;
}

// Links of a set that can never be full, in either fabric, and the least of what keeps them from it; and the others.
struct CappedLinks {
  std::vector<ChangedLinks> capped;
  std::vector<ChangedLinks> others;
  std::optional<network::LinkCap> cap;
};

// Cap that keeps these links from being full in both fabrics; the least one.
std::optional<network::LinkCap> cap_of(const EqualPair& pair, const ChangedLinks& links) {
  std::optional<network::LinkCap> least;
  for (const experiment::Experiment* side : {&pair.first, &pair.second}) {
    const std::optional<network::LinkCap> cap = network::cap_of(side->fabric, links.link_class);
    if (!cap || cap->together > cap->least) return std::nullopt;
    if (!least || cap->together < least->together) least = cap;
  }
  return least;
}

CappedLinks capped(const EqualPair& pair, const std::vector<ChangedLinks>& links) {
  CappedLinks result;
  for (const ChangedLinks& one : links) {
    const std::optional<network::LinkCap> cap = cap_of(pair, one);
    (cap ? result.capped : result.others).push_back(one);
    if (cap && (!result.cap || cap->together < result.cap->together)) result.cap = cap;
  }
  return result;
}

// "'nic', 'nic.leaf'": the classes without directions.
std::string names_of(const network::Fabric& fabric, const std::vector<ChangedLinks>& links) {
  std::vector<std::string> names;
  for (const ChangedLinks& one : links) {
    std::string name = network::without_direction(fabric.link_classes()[one.link_class]);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

// Text for operations that change without effect on the time.
constexpr std::string_view kHidden =
    "operations take other times, but none that the iteration waits for: others hide them";

// Verb for links that can be full but are not, to follow their name.
std::string_view unbound_text(OperationTimes operations) {
  return operations == OperationTimes::kSame ? "bound no operation" : "bound nothing that the iteration waits for";
}

NoDifference link_reason(const EqualPair& pair, const std::string& key, const std::vector<ChangedLinks>& links) {
  const network::Fabric& fabric = pair.second.fabric;
  const std::string sets = fmt::format("it sets the links {}", names_of(fabric, links));
  const std::vector<ChangedLinks> used = crossed(pair, links);
  if (used.empty()) return {{key}, sets + ", which no message of the job crosses", {}, false};
  const auto& [capped_links, others, cap] = capped(pair, used);
  if (!others.empty() && pair.operations == OperationTimes::kOther)
    return {{key}, fmt::format("{}: {}", sets, kHidden), {}, false};
  if (!cap)
    return {
        {key},
        fmt::format(
            "{}, which {}{}", sets, unbound_text(pair.operations),
            pair.operations == OperationTimes::kSame ? ": latencies, other links or the library's own limits do" : ""),
        {},
        false};
  const std::string& by = fabric.link_keys()[cap->by];
  const std::string remedy = by.empty() || by == key ? std::string() : fmt::format("change '{}' with it", by);
  const std::string narrower =
      fmt::format("also crosses '{}', which carry {}", network::without_direction(fabric.link_classes()[cap->by]),
                  rounded(cap->together));
  const std::string some = fmt::format("all that crosses {} {}", names_of(fabric, capped_links), narrower);
  const std::string text = others.empty() ? fmt::format("{}, and all that crosses these {}", sets, narrower)
                                          : fmt::format("{}: {}, and {} {}", sets, some, names_of(fabric, others),
                                                        unbound_text(pair.operations));
  return {{key}, text, remedy, false, some};
}

// Reason why two values of the key make no difference, though others would.
std::optional<NoDifference> alike_reason(const EqualPair& pair, const SettingDifference& change) {
  std::optional<std::string> reason;
  for (const experiment::Experiment* side : {&pair.first, &pair.second}) {
    if (side->jobs.size() != 1 || !side->jobs.front().workload.training) return std::nullopt;
    const std::vector<experiment::AlikeValues> rules = experiment::alike_values(*side->jobs.front().workload.training);
    const auto holds = [&](const experiment::AlikeValues& one) {
      const auto has = [&](const std::string& value) {
        return std::ranges::find(one.values, value) != one.values.end();
      };
      return one.path == change.key && has(change.first) && has(change.second);
    };
    const auto rule = std::ranges::find_if(rules, holds);
    if (rule == rules.end()) return std::nullopt;
    reason = rule->reason;
  }
  return NoDifference{{change.key}, *reason, {}, false};
}

// Reason why packing leaves each rank on the device that it has without.
std::string packing_text(const experiment::Experiment& experiment, std::uint32_t ranks) {
  if (!experiment.fabric.is_of_nodes()) return "the cluster has no nodes that groups could be packed into";
  const std::uint32_t per_node = experiment.fabric.dimensions().front().size;
  if (ranks <= per_node) return "all ranks lie within one node anyway";
  if (experiment.jobs.size() > 1) return "packing, which is of one job, changes nothing where there are several";
  if (!experiment.jobs.front().workload.training)
    return "packing, which is of a job of a model, changes nothing in any other";
  const std::optional<experiment::Packing> wanted = experiment::packing_wanted(experiment);
  if (!wanted) return "packing changes nothing, as no group of ranks reaches over more nodes than it has to";
  return fmt::format("packing takes {} nodes, and the cluster has {}", wanted->nodes,
                     experiment.fabric.device_count() / per_node);
}

// Reason why other placements take equally long, where it is one of the placements.
std::optional<std::string> placement_text(const EqualPair& pair) {
  using experiment::PlacementKind;
  if (pair.ranks == 0) return std::nullopt;
  const PlacementKind first = pair.first.placement.kind, second = pair.second.placement.kind;
  const std::vector<DeviceId> of_first = experiment::place_jobs(pair.first, pair.ranks);
  const std::vector<DeviceId> of_second = experiment::place_jobs(pair.second, pair.ranks);
  const auto is_whole = [](PlacementKind kind) {
    return kind == PlacementKind::kPacked || kind == PlacementKind::kDense;
  };
  if (of_first == of_second) {
    const std::string same = "each rank has the same device either way";
    if (first == second) return first == PlacementKind::kPacked ? "packed is the default" : same;
    return is_whole(first) && is_whole(second) ? fmt::format("{}: {}", same, packing_text(pair.second, pair.ranks))
                                               : same;
  }
  const auto node_of = [](const experiment::Experiment& side, DeviceId device) {
    return network::node_of(side.fabric, device);
  };
  for (std::size_t rank = 0; rank < of_first.size(); ++rank)
    if (node_of(pair.first, of_first[rank]) != node_of(pair.second, of_second[rank])) return std::nullopt;
  return "ranks change devices, but each stays in its node";
}

// True of a time that a host needs to launch kernels, and of all else that tells which kernels it launches.
bool is_of_host(std::string_view key) {
  return is_below(key, "workload.software.host") || key.ends_with(".host_launch");
}

// Words for the least that is known: equal times say nothing about operations.
NoDifference other_reason(const EqualPair& pair, const SettingDifference& change) {
  if (std::optional<NoDifference> alike = alike_reason(pair, change)) return std::move(*alike);
  if (change.key == "placement")
    if (std::optional<std::string> placed = placement_text(pair)) return {{change.key}, std::move(*placed), {}, false};
  if (is_of_host(change.key) && !pair.waits_for_hosts) return {{change.key}, "no device waits for its host", {}, false};
  switch (pair.operations) {
    case OperationTimes::kOther:
      return {{change.key}, std::string(kHidden), {}, false};
    case OperationTimes::kSame:
      return {{change.key}, "no operation of the job depends on it: each starts and ends as before", {}, false};
    case OperationTimes::kUnknown:
      break;
  }
  return {{change.key}, "the times are the same to the picosecond; why, no rule says", {}, false};
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
    if (use.bytes > 0) used.insert(network::without_direction(use.name));
  return used;
}

bool is_wait_for_host(const report::Part& part) { return part.kind == report::PartKind::kHost; }

bool waits_for_host(const experiment::Run& run) {
  return std::ranges::any_of(report::mean_parts(run.result), is_wait_for_host);
}

}  // namespace

void EqualPair::take(const report::LinkShares& links, const std::vector<report::Part>& parts) {
  for (const auto& [name, use] : links) used_links.insert(name);
  waits_for_hosts = waits_for_hosts || std::ranges::any_of(parts, is_wait_for_host);
}

OperationTimes operation_times(const experiment::Run& first, const experiment::Run& second) {
  const bool is_alike = first.acting.size() == second.acting.size();
  return is_alike && !report::first_difference({first.log, first.acting}, {second.log, second.acting})
             ? OperationTimes::kSame
             : OperationTimes::kOther;
}

std::vector<NoDifference> why_no_difference(const EqualPair& pair) {
  std::vector<NoDifference> reasons;
  const std::vector<SettingDifference> changes = written_changes(pair);
  const std::vector<ChangedLinks> changed = changed_links(pair.first.fabric, pair.second.fabric);
  for (const SettingDifference& change : changes) {
    if (std::optional<NoDifference> idle = idle_reason(pair, change)) {
      add(reasons, std::move(*idle));
      continue;
    }
    const std::vector<ChangedLinks> links = links_of(change.key, changed, changes.size() == 1);
    add(reasons, links.empty() ? other_reason(pair, change) : link_reason(pair, change.key, links));
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
  const std::size_t ranks = first_run.job.ranks.size();
  return why_no_difference({of_first, of_second, std::move(used), operation_times(first_run, second_run),
                            ranks == second_run.job.ranks.size() ? static_cast<std::uint32_t>(ranks) : 0,
                            waits_for_host(first_run) || waits_for_host(second_run)});
}

std::string short_text(const NoDifference& one) {
  return fmt::format("{}{}{}", one.cap.empty() ? one.reason : one.cap, one.remedy.empty() ? "" : "; ", one.remedy);
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
