// SPDX-License-Identifier: MIT
#include "study/compare/no_difference.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "experiment/warnings.h"
#include "report/operations/fold_check.h"
#include "study/compare/changed_links.h"
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

// Text for operations that change without effect on the time.
constexpr std::string_view kHidden =
    "operations take other times, but none that the iteration waits for: others hide them";

constexpr std::string_view kHiddenAmongSeveral =
    "operations take other times, by it or by another of the keys, but none that the iteration waits for: others hide "
    "them";

// Verb for links that can be full but are not, to follow their name.
std::string_view unbound_text(OperationTimes operations) {
  return operations == OperationTimes::kSame ? "bound no operation" : "bound nothing that the iteration waits for";
}

// Links of the set that messages of the job cross.
std::vector<ChangedLinks> crossed(const EqualPair& pair, std::vector<ChangedLinks> links) {
  std::erase_if(links, [&](const ChangedLinks& one) {
    return !pair.used_links.contains(network::without_direction(pair.second.fabric.link_classes()[one.link_class]));
  });
  return links;
}

// Limits that bound operations in place of links that are not full, with the busiest of the other links.
std::string bounds_text(const EqualPair& pair, const std::vector<ChangedLinks>& links) {
  const auto is_other = [&](const auto& share) {
    return std::ranges::none_of(links, [&](const ChangedLinks& one) {
      return network::without_direction(pair.second.fabric.link_classes()[one.link_class]) == share.first;
    });
  };
  const auto busiest = std::ranges::find_if(pair.shares, is_other);
  if (busiest == pair.shares.end()) return "latencies or the library's own limits do";
  return fmt::format("latencies, the library's own limits or other links do, of which '{}' are the busiest ({})",
                     busiest->first, percent(busiest->second, 0));
}

NoDifference unbound_reason(const EqualPair& pair, const std::string& key, const std::vector<ChangedLinks>& links) {
  NoDifference reason{
      {key},
      fmt::format("it sets the links {}, which {}", names_of(pair.second.fabric, links), unbound_text(pair.operations)),
      {}};
  if (pair.operations == OperationTimes::kSame) reason.reason += ": " + bounds_text(pair, links);
  for (const ChangedLinks& one : links) reason.rise = std::max(reason.rise, one.rise);
  return reason;
}

// Setting of the cap's key with which it brings as much as the links can carry, rounded up to three digits.
std::string setting_against(const network::LinkCap& cap, const std::string& key) {
  const double factor = static_cast<double>(cap.least.count()) / static_cast<double>(cap.together.count());
  const double step = std::pow(10.0, std::floor(std::log10(factor)) - 2);
  return fmt::format("{}*={:.3g}", key, std::ceil(factor / step - 1e-9) * step);
}

bool is_changed(std::span<const SettingDifference> changes, const std::string& key) {
  return std::ranges::find(changes, key, &SettingDifference::key) != changes.end();
}

// Says of a cap that its key may be moved with the other.
void add_partner(const EqualPair& pair, const network::LinkCap& cap, NoDifference& reason) {
  const std::string& by = pair.second.fabric.link_keys()[cap.by];
  if (by.empty()) return;
  reason.remedy = fmt::format("change '{}' with it", by);
  if (reason.rise > 1 && cap.together < cap.least) reason.with = {setting_against(cap, by)};
}

NoDifference link_reason(const EqualPair& pair, const std::string& key, const std::vector<ChangedLinks>& links,
                         std::span<const SettingDifference> changes) {
  const network::Fabric& fabric = pair.second.fabric;
  const std::string sets = fmt::format("it sets the links {}", names_of(fabric, links));
  const std::vector<ChangedLinks> used = crossed(pair, links);
  if (used.empty()) return {{key}, sets + ", which no message of the job crosses", {}, false};
  const CappedLinks found = capped(pair.first.fabric, pair.second.fabric, used);
  const std::vector<ChangedLinks>&capped_links = found.capped, &others = found.others;
  const std::optional<network::LinkCap>& cap = found.cap;
  if (!others.empty() && pair.operations == OperationTimes::kOther)
    return {{key}, fmt::format("{}: {}", sets, kHidden), {}, false};
  if (!cap || is_changed(changes, fabric.link_keys()[cap->by])) return unbound_reason(pair, key, links);
  const std::string narrower =
      fmt::format("also crosses '{}', which carry {}", network::without_direction(fabric.link_classes()[cap->by]),
                  rounded(cap->together));
  const std::string some = fmt::format("all that crosses {} {}", names_of(fabric, capped_links), narrower);
  const std::string text = others.empty() ? fmt::format("{}, and all that crosses these {}", sets, narrower)
                                          : fmt::format("{}: {}, and {} {}", sets, some, names_of(fabric, others),
                                                        unbound_text(pair.operations));
  NoDifference reason{{key}, text, {}, false, some};
  for (const ChangedLinks& one : capped_links) reason.rise = std::max(reason.rise, one.rise);
  add_partner(pair, *cap, reason);
  return reason;
}

// Reason why two values of the key make no difference, though others would.
std::optional<NoDifference> alike_reason(const EqualPair& pair, const SettingDifference& change) {
  std::optional<std::string> reason;
  for (const experiment::Experiment* side : {&pair.first, &pair.second}) {
    if (side->jobs.size() != 1 || !side->jobs.front().workload.training) return std::nullopt;
    const std::vector<experiment::AlikeValues> rules = experiment::alike_values(*side->jobs.front().workload.training);
    const auto holds = [&](const experiment::AlikeValues& one) {
      const auto has = [&](const std::string& value) {
        return one.values.empty() || std::ranges::find(one.values, value) != one.values.end();
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

// True of what the figures of the whole training are made from, and no iteration.
bool is_of_whole_training(std::string_view key) {
  return key.ends_with("workload.tokens") || key.ends_with("workload.price");
}

// True of what a device is and does, "cluster.node.device.peak.bf16", and of its name.
bool is_of_device(std::string_view key) { return key.starts_with("cluster.") && key.find(".device") != key.npos; }

// Words for the least that is known: equal times say nothing about operations. `is_alone`: no other key differs.
NoDifference other_reason(const EqualPair& pair, const SettingDifference& change, bool is_alone) {
  if (std::optional<NoDifference> alike = alike_reason(pair, change)) return std::move(*alike);
  if (change.key == "placement")
    if (std::optional<std::string> placed = placement_text(pair)) return {{change.key}, std::move(*placed), {}, false};
  if (is_of_whole_training(change.key))
    return {
        {change.key}, "it sets days, energy and cost of the whole training, and no time of an iteration", {}, false};
  if (is_of_host(change.key) && !pair.waits_for_hosts) return {{change.key}, "no device waits for its host", {}, false};
  if (is_of_device(change.key) && pair.computes_as_measured)
    return {{change.key}, "computing takes as long as the traces say, on whatever device", {}, false};
  switch (pair.operations) {
    case OperationTimes::kOther:
      return {{change.key}, std::string(is_alone ? kHidden : kHiddenAmongSeveral), {}, false};
    case OperationTimes::kSame:
      return {{change.key}, "no operation of the job depends on it: each starts and ends as before", {}, false};
    case OperationTimes::kUnknown:
      break;
  }
  NoDifference unknown{{change.key}, "the times are the same to the picosecond; why, no rule says", {}};
  unknown.is_known = false;
  return unknown;
}

void add(std::vector<NoDifference>& reasons, NoDifference reason) {
  const auto same = std::ranges::find_if(
      reasons, [&](const NoDifference& one) { return one.reason == reason.reason && one.remedy == reason.remedy; });
  if (same == reasons.end())
    reasons.push_back(std::move(reason));
  else
    same->keys.push_back(reason.keys.front());
}

bool is_wait_for_host(const report::Part& part) { return part.kind == report::PartKind::kHost; }

}  // namespace

void EqualPair::take(const report::LinkShares& links, const std::vector<report::Part>& parts) {
  for (const auto& [name, use] : links) used_links.insert(name);
  waits_for_hosts = waits_for_hosts || std::ranges::any_of(parts, is_wait_for_host);
  shares = links;
}

OperationTimes operation_times(const experiment::Run& first, const experiment::Run& second) {
  const bool is_alike = first.acting.size() == second.acting.size();
  return is_alike && !report::first_difference({first.log, first.acting}, {second.log, second.acting})
             ? OperationTimes::kSame
             : OperationTimes::kOther;
}

bool changes_host(const EqualPair& pair) {
  return std::ranges::any_of(written_changes(pair), [](const SettingDifference& one) { return is_of_host(one.key); });
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
    add(reasons, links.empty() ? other_reason(pair, change, changes.size() == 1)
                               : link_reason(pair, change.key, links, changes));
  }
  return reasons;
}

std::vector<NoDifference> held_up(const EqualPair& pair) {
  std::vector<NoDifference> reasons;
  const network::Fabric& fabric = pair.second.fabric;
  const std::vector<SettingDifference> changes = written_changes(pair);
  const std::vector<ChangedLinks> changed = changed_links(pair.first.fabric, fabric);
  for (const SettingDifference& change : changes) {
    if (idle_reason(pair, change)) continue;
    for (const ChangedLinks& links : crossed(pair, links_of(change.key, changed, changes.size() == 1))) {
      const std::optional<network::LinkCap> cap = links.rise > 1 ? cap_in(fabric, links) : std::nullopt;
      if (!cap || cap->together >= cap->least || !cap->is_by_name() || is_changed(changes, fabric.link_keys()[cap->by]))
        continue;
      const std::string text =
          fmt::format("links {} of {} are never full: all that crosses them also crosses '{}', which carry {}",
                      names_of(fabric, {links}), rounded(cap->least),
                      network::without_direction(fabric.link_classes()[cap->by]), rounded(cap->together));
      NoDifference reason{{change.key}, text, {}, false, text};
      reason.rise = links.rise;
      add_partner(pair, *cap, reason);
      const auto is_told = [&](const NoDifference& one) { return one.keys == reason.keys && one.with == reason.with; };
      if (std::ranges::none_of(reasons, is_told)) reasons.push_back(std::move(reason));
    }
  }
  return reasons;
}

namespace {

// "; with KEY*=2 as well it saves 26.0 % (3.0 % without the change)": what was simulated, else the remedy.
std::string remedy_text(const NoDifference& one) {
  if (!one.saving) return (one.remedy.empty() ? "" : "; ") + one.remedy;
  const std::string with = printable(fmt::format("{}", fmt::join(one.with, " and ")), 200);
  const auto& [plain, together, alone] = *one.saving;
  if (together - plain < kLeastSaving) return fmt::format("; with {} as well it is no faster either", with);
  if (together - alone < kLeastSaving)
    return fmt::format("; {} saves {}, with this change or without it", with, percent(together));
  return fmt::format("; with {} as well it saves {}{}{}", with, percent(together),
                     plain < kLeastSaving ? "" : fmt::format(", not {}", percent(plain)),
                     alone < kLeastSaving ? "" : fmt::format(" ({} without this change)", percent(alone)));
}

}  // namespace

std::string short_text(const NoDifference& one) { return (one.cap.empty() ? one.reason : one.cap) + remedy_text(one); }

std::string to_text(const NoDifference& one) {
  constexpr std::size_t kMost = 3;
  std::string keys;
  for (std::size_t i = 0; i < std::min(kMost, one.keys.size()); ++i)
    keys += fmt::format("{}{}", i == 0 ? "" : ", ", printable(one.keys[i]));
  if (one.keys.size() > kMost) keys += fmt::format(" and {} more", one.keys.size() - kMost);
  return fmt::format("{}: {}{}", keys, one.reason, remedy_text(one));
}

nlohmann::ordered_json to_json(const NoDifference& one) {
  nlohmann::ordered_json json = {
      {"keys", one.keys}, {"reason", one.reason}, {"remedy", one.remedy}, {"text", to_text(one)}};
  if (!one.with.empty()) json["with"] = one.with;
  if (one.saving) json["saved_with"] = one.saving->together;
  if (one.saving) json["saved_alone"] = one.saving->alone;
  return json;
}

}  // namespace orrery::study
