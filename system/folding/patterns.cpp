// SPDX-License-Identifier: MIT
#include "system/folding/patterns.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "collectives/message_table.h"
#include "core/hash.h"

namespace orrery::system {
namespace {

constexpr std::uint64_t kNobody = UINT64_MAX;
constexpr std::uint64_t kShared = UINT64_MAX - 1;

// A member that sends in the calls of a communicator. Its own calls follow one another; those of others may still be
// under way when it goes on to the next.
std::uint64_t sender(GroupId group, std::uint32_t member) { return std::uint64_t{index_of(group)} << 32 | member; }
std::uint64_t several_of(GroupId group) { return sender(group, UINT32_MAX); }
std::uint32_t group_of(std::uint64_t user) { return static_cast<std::uint32_t>(user >> 32); }

// User of each link: one sender, or several senders of one communicator.
class LinkUsers {
 public:
  explicit LinkUsers(const network::Fabric& fabric) : fabric_(fabric), user_(fabric.link_count(), kNobody) {}

  void use(DeviceId from, DeviceId to, std::uint64_t user) { use(route(from, to), user); }
  void use(std::span<const LinkId> links, std::uint64_t user) {
    for (const LinkId link : links) {
      std::uint64_t& known = user_[index_of(link)];
      if (known == kNobody)
        known = user;
      else if (known != user)
        known = group_of(known) == group_of(user) ? user | UINT32_MAX : kShared;
    }
  }
  std::uint64_t user(LinkId link) const { return user_[index_of(link)]; }
  const std::vector<LinkId>& route(DeviceId from, DeviceId to) {
    fabric_.route(from, to, route_);
    return route_;
  }

 private:
  const network::Fabric& fabric_;
  std::vector<std::uint64_t> user_;
  std::vector<LinkId> route_;  // scratch
};

// Uniform rings that do not wait for one another: one, or one each way round.
bool is_uniform_ring(const Pattern& pattern) {
  return !pattern.plan->phases.empty() && std::ranges::all_of(pattern.plan->phases, [](const PlannedPhase& phase) {
    return phase.phase.after.empty() && !phase.is_whole() && phase.schedule().is_uniform_ring();
  });
}

bool is_lockstep(const Pattern& pattern) {
  const std::vector<PlannedPhase>& phases = pattern.plan->phases;
  return phases.size() == 1 && !phases.front().is_whole() && phases.front().schedule().is_lockstep();
}

PrivateCalls::Kind kind_of(const Pattern& pattern, GroupId group, std::span<const DeviceId> devices, LinkUsers& users) {
  using enum PrivateCalls::Kind;
  bool is_ring = is_uniform_ring(pattern);
  const bool is_in_lockstep = is_lockstep(pattern);
  if (!is_ring && !is_in_lockstep) return kNone;
  bool is_alone = true;
  std::vector<std::pair<std::uint32_t, LinkId>> crossed;  // by the messages of each step
  for_each_message(pattern, [&](const PatternMessage& message) {
    const std::vector<LinkId>& route = users.route(devices[message.from], devices[message.to]);
    is_alone = is_alone && !route.empty();
    for (const LinkId link : route) {
      const std::uint64_t user = users.user(link);
      is_ring = is_ring && user == sender(group, message.from);
      is_alone = is_alone && group_of(user) == index_of(group);
      crossed.emplace_back(message.send, link);
    }
  });
  std::ranges::sort(crossed);
  if (!is_alone || std::ranges::adjacent_find(crossed) != crossed.end()) return kNone;
  if (is_ring) return kRing;
  return is_in_lockstep ? kLockstep : kNone;
}

void use_links(const Pattern& pattern, GroupId group, std::span<const DeviceId> devices, const network::Fabric& fabric,
               LinkUsers& users) {
  std::vector<bool> is_marked(pattern.is_complete.size(), false);
  std::vector<DeviceId> line_devices;
  for_each_line(pattern, [&](const PatternLine& line) {
    if (!pattern.is_complete[line.phase]) return;
    line_devices.clear();
    for (const std::uint32_t member : line.members) line_devices.push_back(devices[member]);
    const std::optional<Ways> ways = find_ways(line_devices, fabric);
    if (!ways) return;
    is_marked[line.phase] = true;
    for (std::size_t i = 0; i < line.members.size(); ++i) {
      users.use(ways->out[i], sender(group, line.members[i]));
      users.use(ways->in[i], several_of(group));
    }
  });
  for_each_message(pattern, is_marked, [&](const PatternMessage& message) {
    users.use(devices[message.from], devices[message.to], sender(group, message.from));
  });
}

bool start_together(const collectives::Step& a, const collectives::Step& b) {
  return a.needs == b.needs && a.bytes == b.bytes && a.combine == b.combine && !a.after_send && !b.after_send;
}

bool ends_with(std::span<const LinkId> route, std::span<const LinkId> end) {
  return route.size() >= end.size() && std::ranges::equal(route.last(end.size()), end);
}

}  // namespace

// Routes to two different members share their beginning, the way out; routes from two different members share their
// end, the way in.
std::optional<Ways> find_ways(std::span<const DeviceId> devices, const network::Fabric& fabric) {
  const std::size_t count = devices.size();
  if (count < 3) return std::nullopt;
  Ways ways;
  std::vector<LinkId> route, other;
  for (std::size_t i = 0; i < count; ++i) {
    const DeviceId here = devices[i], one = devices[(i + 1) % count], two = devices[(i + 2) % count];
    fabric.route(here, one, route);
    fabric.route(here, two, other);
    ways.out.emplace_back(route.begin(), std::ranges::mismatch(route, other).in1);
    fabric.route(one, here, route);
    fabric.route(two, here, other);
    const auto same = std::mismatch(route.rbegin(), route.rend(), other.rbegin(), other.rend()).first;
    ways.in.emplace_back(same.base(), route.end());
  }
  const std::size_t looked_at = fabric.share_switches(devices) ? 1 : count - 1;  // routes from each device
  for (std::size_t from = 0; from < count; ++from)
    for (std::size_t distance = 1; distance <= looked_at; ++distance) {
      const std::size_t to = (from + distance) % count;
      fabric.route(devices[from], devices[to], route);
      if (route.size() != ways.out[from].size() + ways.in[to].size() || !ends_with(route, ways.in[to]) ||
          !std::equal(ways.out[from].begin(), ways.out[from].end(), route.begin()))
        return std::nullopt;
    }
  return ways;
}

PrivateCalls::PrivateCalls(const workload::Job& job, const network::Fabric& fabric, std::span<const DeviceId> placement,
                           const CollectivePlans& plans, const Patterns& patterns, Granularity granularity) {
  const auto groups = static_cast<std::uint32_t>(job.communicators.size());
  bool any = false;
  if (granularity == Granularity::kPhase) return;
  for (std::uint32_t group = 0; group < groups; ++group) {
    const std::span<const Pattern> of_group = patterns.of(GroupId(group));
    kinds_.emplace_back(of_group.size(), Kind::kNone);
    any = any || std::ranges::any_of(
                     of_group, [](const Pattern& pattern) { return is_uniform_ring(pattern) || is_lockstep(pattern); });
  }
  if (!any) return;
  LinkUsers users(fabric);
  for (std::uint32_t group = 0; group < groups; ++group)
    for (const Pattern& pattern : patterns.of(GroupId(group)))
      use_links(pattern, GroupId(group), plans.devices(GroupId(group)), fabric, users);
  // A peer that only sends counts as one that is sent to as well: what is not found to be private is simulated in full.
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    for (const RankId peer : std::as_const(job.ranks)[rank].peers)
      users.use(placement[rank], placement[index_of(peer)], kShared);
  for (std::uint32_t group = 0; group < groups; ++group)
    for (std::uint32_t i = 0; i < kinds_[group].size(); ++i)
      kinds_[group][i] = kind_of(patterns.of(GroupId(group))[i], GroupId(group), plans.devices(GroupId(group)), users);
}

ProgramKinds::ProgramKinds(const collectives::Schedule& schedule, std::uint32_t rank) {
  const std::uint32_t sends = schedule.sends(rank), receives = schedule.receives(rank);
  hash_ = hash_of({sends, receives, schedule.is_uniform_ring()});
  if (schedule.is_uniform_ring()) return;
  sends_.resize(sends);
  receives_.resize(receives);
  if (schedule.table() != nullptr) {  // each is one of its own
    std::iota(sends_.begin(), sends_.end(), 0);
    std::iota(receives_.begin(), receives_.end(), 0);
    hash_ = schedule.table()->program(rank).hash;
    return;
  }
  std::vector<collectives::Step> steps;
  std::vector<bool> is_waited_for(sends);  // sends that another one comes after
  std::vector<bool> is_edge(receives + 1);
  for (std::uint32_t i = 0; i < sends; ++i) {
    const collectives::Step& step = steps.emplace_back(schedule.step(rank, i));
    if (step.after_send) is_waited_for[*step.after_send] = true;
    if (!step.needs.empty()) is_edge[step.needs.begin] = is_edge[step.needs.end] = true;
  }
  for (std::uint32_t i = 0; i < sends; ++i) {
    const bool joins = i > 0 && start_together(steps[i - 1], steps[i]) && !is_waited_for[i - 1] && !is_waited_for[i];
    sends_[i] = joins ? sends_[i - 1] : i;
    hash_ = hash_of({hash_, sends_[i], steps[i].needs.begin, steps[i].needs.end,
                     steps[i].after_send ? *steps[i].after_send + 1 : 0, steps[i].reduce_bytes.count() > 0});
  }
  for (std::uint32_t slot = 1; slot < receives; ++slot) receives_[slot] = is_edge[slot] ? slot : receives_[slot - 1];
}

// Mostly one for all ranks.
const KindsOfRanks::Ranks& KindsOfRanks::of(const collectives::Schedule& schedule, bool is_complete) {
  Ranks& kinds = kinds_[&schedule];
  if (kinds.empty() && is_complete)  // all are alike
    kinds.assign(schedule.ranks(), std::make_shared<const ProgramKinds>(schedule, 0));
  for (auto rank = static_cast<std::uint32_t>(kinds.size()); rank < schedule.ranks(); ++rank) {
    ProgramKinds own(schedule, rank);
    const bool is_like_last = !kinds.empty() && *kinds.back() == own;
    kinds.push_back(is_like_last ? kinds.back() : std::make_shared<const ProgramKinds>(std::move(own)));
  }
  return kinds;
}

Patterns::Patterns(const workload::Matching& matching, CollectivePlans& plans, Granularity granularity)
    : matching_(matching), granularity_(granularity) {
  for (std::uint32_t group = 0; group < matching.communicators(); ++group) {
    const std::uint32_t model = index_of(plans.model_of(GroupId(group)));
    table_of_.push_back(model == group ? static_cast<std::uint32_t>(tables_.size()) : table_of_[model]);
    if (model == group) tables_.push_back(make_table(GroupId(group), plans));
  }
}

Patterns::Table Patterns::make_table(GroupId group, CollectivePlans& plans) const {
  Table table;
  const std::span<const workload::CollectiveCall> calls = matching_.calls(group);
  for (std::uint32_t call = 0; call < calls.size(); ++call) {
    const std::uint64_t key = key_of(calls[call]);
    if (table.by_key.try_emplace(key, static_cast<std::uint32_t>(table.patterns.size())).second) {
      Pattern& pattern = table.patterns.emplace_back();
      pattern = {&plans.plan(group, call), key, {}};
      for (const PlannedPhase& phase : pattern.plan->phases)
        pattern.is_complete.push_back(granularity_ == Granularity::kStep && phase.schedule().is_complete_exchange());
    }
    table.calls_hash =
        hash_of({table.calls_hash, key, static_cast<std::uint64_t>(calls[call].bytes.count()), calls[call].root});
  }
  return table;
}

// Calls of the same kind and root tie together the same ranks whatever their size, as long as it is the same for all:
// pieces are ceil(S/n). At granularity `phase` the sizes show in the weights of links.
std::uint64_t Patterns::key_of(const workload::CollectiveCall& call) const {
  std::uint64_t key = hash_of({static_cast<std::uint64_t>(call.kind), call.root, call.bytes_of_member.size()});
  if (granularity_ == Granularity::kPhase || call.bytes == Bytes(0))
    key = hash_of({key, static_cast<std::uint64_t>(call.bytes.count())});
  for (const Bytes bytes : call.bytes_of_member.span()) key = hash_of({key, static_cast<std::uint64_t>(bytes.count())});
  return key;
}

std::uint32_t Patterns::of_call(GroupId group, std::uint32_t call) const {
  return tables_[table_of_[index_of(group)]].by_key.at(key_of(matching_.calls(group)[call]));
}

void for_each_message(const Pattern& pattern, const std::vector<bool>& left_out,
                      const std::function<void(const PatternMessage&)>& visit) {
  const CommunicatorLayout& layout = *pattern.plan->layout;
  PatternMessage message;
  for (message.phase = 0; message.phase < pattern.plan->phases.size(); ++message.phase) {
    if (!left_out.empty() && left_out[message.phase]) continue;
    const PlannedPhase& planned = pattern.plan->phases[message.phase];
    message.is_uniform_ring = planned.schedule().is_uniform_ring();
    for (std::uint32_t position = 0; position < layout.size(); ++position) {
      if (!pattern.plan->participates(message.phase, position)) continue;
      const std::uint32_t in_line = layout.coordinate(position, planned.phase.axis);
      const std::uint32_t sends =
          std::min(planned.schedule().sends(in_line), message.is_uniform_ring ? 1U : UINT32_MAX);
      message.from = layout.member_at[position];
      for (message.send = 0; message.send < sends; ++message.send) {
        const collectives::Step step = planned.schedule().step(in_line, message.send);
        message.to = layout.member_at[layout.moved_to(position, planned.phase.axis, step.to)];
        message.slot = message.is_uniform_ring ? 0 : step.slot;
        visit(message);
        ++message.number;
      }
    }
  }
}

void for_each_line(const Pattern& pattern, const std::function<void(const PatternLine&)>& visit) {
  const CommunicatorLayout& layout = *pattern.plan->layout;
  PatternLine line;
  std::vector<std::uint32_t> members;
  for (line.phase = 0; line.phase < pattern.plan->phases.size(); ++line.phase) {
    const std::uint32_t axis = pattern.plan->phases[line.phase].phase.axis;
    for (std::uint32_t position = 0; position < layout.size(); ++position) {
      if (position > 0 && layout.sizes.size() == 1) break;  // one line of all
      if (layout.coordinate(position, axis) != 0 || !pattern.plan->participates(line.phase, position)) continue;
      members.clear();
      for (std::uint32_t coordinate = 0; coordinate < layout.sizes[axis]; ++coordinate)
        members.push_back(layout.member_at[layout.moved_to(position, axis, coordinate)]);
      line.members = members;
      visit(line);
      ++line.number;
    }
  }
}

}  // namespace orrery::system
