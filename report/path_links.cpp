// SPDX-License-Identifier: MIT
#include "report/path_links.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "system/plans/line_traffic.h"

namespace orrery::report {
namespace {

Duration longest_of(Duration a, Duration b) { return std::max(a, b); }

// The devices of every line of ranks along the phase's axis; of a phase of the whole group that alone.
std::vector<std::vector<DeviceId>> lines_of(const system::CollectivePlan& plan, std::size_t phase,
                                            std::span<const DeviceId> devices) {
  const system::CommunicatorLayout& layout = *plan.layout;
  if (plan.phases[phase].is_whole()) return {{devices.begin(), devices.end()}};
  const std::uint32_t axis = plan.phases[phase].phase.axis;
  std::vector<std::vector<DeviceId>> lines;
  for (std::uint32_t position = 0; position < layout.size(); ++position) {
    if (layout.coordinate(position, axis) != 0 || !plan.participates(phase, position)) continue;
    std::vector<DeviceId>& line = lines.emplace_back();
    for (std::uint32_t at = 0; at < layout.sizes[axis]; ++at)
      line.push_back(devices[layout.member_at[layout.moved_to(position, axis, at)]]);
  }
  return lines;
}

std::vector<ClassBytes> by_class(const std::map<std::uint16_t, double>& sums) {
  std::vector<ClassBytes> all;
  for (const auto& [link_class, bytes] : sums) all.push_back({link_class, bytes});
  return all;
}

}  // namespace

const PathLinks::Demand& PathLinks::demand_of(GroupId group, std::uint32_t call) {
  const system::CollectivePlan& plan = plans_.plan(group, call);
  const auto [known, is_new] = known_.try_emplace({group, &plan});
  if (is_new) known->second = demand_of(group, plan);
  return known->second;
}

StepLinks PathLinks::of_call(GroupId group, std::uint32_t call, Duration time) {
  return split(demand_of(group, call), time);
}

std::span<const ClassBytes> PathLinks::bytes_of_call(GroupId group, std::uint32_t call) {
  return demand_of(group, call).by_class;
}

bool PathLinks::is_same_node(RankId one, RankId other) const {
  const auto node = [&](RankId rank) { return network::node_of(fabric_, placement_[index_of(rank)]); };
  return node(one) == node(other);
}

std::vector<ClassBytes> PathLinks::bytes_of_message(RankId from, RankId to, Bytes bytes) const {
  std::vector<LinkId> route;
  const DeviceId sender = placement_[index_of(from)], receiver = placement_[index_of(to)];
  if (sender != receiver) fabric_.route(sender, receiver, route);
  std::map<std::uint16_t, double> sums;
  for (const LinkId link : route) sums[fabric_.link(link).link_class] += static_cast<double>(bytes.count());
  return by_class(sums);
}

StepLinks PathLinks::of_message(RankId from, RankId to, Bytes bytes, Duration time) {
  std::vector<LinkId> route;
  const DeviceId sender = placement_[index_of(from)], receiver = placement_[index_of(to)];
  if (sender != receiver) fabric_.route(sender, receiver, route);
  std::vector<LinkTime> times;
  Demand demand;
  for (const LinkId link : route) {
    if (bytes.count() > 0) times.push_back({link, transfer_alone(fabric_, network::LinkLoad{link, bytes})});
    demand.latency += fabric_.link(link).latency;
  }
  std::ranges::sort(times, {}, &LinkTime::link);
  Duration longest{};
  add_phase(times, Duration::zero(), demand, longest);
  return split(demand, time);
}

StepLinks PathLinks::split(const Demand& demand, Duration time) {
  StepLinks step;
  step.slowest = demand.slowest;
  step.shared = demand.shared;
  step.moving = std::min(demand.moving, time);
  step.own = std::min(demand.own, step.moving);
  step.latency = std::min(demand.latency, time - step.moving);
  step.waiting = time - step.moving - step.latency;
  return step;
}

PathLinks::Demand PathLinks::demand_of(GroupId group, const system::CollectivePlan& plan) const {
  Demand demand;
  Duration longest{};
  std::map<std::uint16_t, double> sums;
  const auto members = static_cast<double>(plans_.devices(group).size());
  for (std::size_t phase = 0; phase < plan.phases.size(); ++phase) {
    std::vector<network::LinkLoad> loads;
    Duration latency{}, least{};
    for (const std::vector<DeviceId>& line : lines_of(plan, phase, plans_.devices(group))) {
      const system::LineTraffic traffic = traffic_of(plan, phase, line, fabric_);
      loads.insert(loads.end(), traffic.loads.begin(), traffic.loads.end());
      latency = longest_of(latency, traffic.latency);
      least = longest_of(least, traffic.least);
    }
    std::ranges::stable_sort(loads, {}, &network::LinkLoad::link);
    std::vector<LinkTime> times;
    for (auto load = loads.begin(); load != loads.end();) {
      const LinkId link = load->link;
      Int128 sum = 0;
      for (; load != loads.end() && load->link == link; ++load) sum += load->bytes.count();
      const Int128 all = std::min<Int128>(sum * plan.chunks, Bytes::max().count());
      times.push_back({link, transfer_alone(fabric_, network::LinkLoad{link, Bytes(static_cast<std::int64_t>(all))})});
      sums[fabric_.link(link).link_class] += static_cast<double>(all) / members;
    }
    demand.latency = saturating_add(demand.latency, latency);
    add_phase(times, least, demand, longest);
  }
  demand.by_class = by_class(sums);
  return demand;
}

// The slowest link of a step is that of its longest phase. What the library does not get over the links any faster
// counts as latency.
void PathLinks::add_phase(std::span<const LinkTime> times, Duration least, Demand& demand, Duration& longest) const {
  std::optional<LinkId> slowest;
  Duration moving{}, own{};
  for (const auto& [link, time] : times) {
    take_busiest(link, demand);
    if (!fabric_.joins_switches(link)) own = longest_of(own, time);
    if (slowest && (time < moving || (time == moving && !comes_before(link, *slowest)))) continue;
    slowest = link;
    moving = time;
  }
  if (least > moving) demand.latency = saturating_add(demand.latency, least - moving);
  demand.moving = saturating_add(demand.moving, moving);
  demand.own = saturating_add(demand.own, own);
  if (slowest && (!demand.slowest || moving > longest)) {
    demand.slowest = slowest;
    longest = moving;
  }
}

// Links whose bandwidth changes over time come first. Links between switches stand for others only if they clearly had
// more to carry than those of devices and NICs.
void PathLinks::take_busiest(LinkId link, Demand& demand) const {
  const double load = this->load(link);
  if (!demand.shared || load > demand.shared_load ||
      (load == demand.shared_load && comes_before(link, *demand.shared))) {
    demand.shared = link;
    demand.shared_load = load;
  }
}

double PathLinks::load(LinkId link) const {
  if (!fabric_.link(link).is_steady()) return std::numeric_limits<double>::infinity();
  constexpr double kClearly = 1.25;
  const double needed =
      static_cast<double>(usage_[link].bytes.count()) / static_cast<double>(fabric_.link(link).bandwidth.count());
  return fabric_.joins_switches(link) ? needed / kClearly : needed;
}

// Links of devices and NICs before those between switches, which wait for these as much.
bool PathLinks::comes_before(LinkId a, LinkId b) const {
  const auto place = [&](LinkId link) {
    return std::tuple(fabric_.joins_switches(link), fabric_.link(link).link_class, fabric_.kind_of(link), link);
  };
  return place(a) < place(b);
}

}  // namespace orrery::report
