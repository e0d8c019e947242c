#include "network/flow_solver.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery {

std::span<const std::uint32_t> FlowSolver::solve(std::span<const std::uint32_t> seeds, Time now) {
  links_.clear();
  mark_ = graph_.new_mark();
  std::int64_t level = kUnrated;
  for (const std::uint32_t seed : seeds) {
    const FlowLink& link = graph_.link(seed);
    if (link.bound > 0) level = std::min(level, link.level);
    if (link.has_joined) level = std::min(level, filling_level(link));
    if (link.bound > 0 || link.has_joined) reach(seed);
  }
  collect(level);
  fill();
  apply(now, false);
  return changed_;
}

std::span<const std::uint32_t> FlowSolver::solve_all(std::span<const std::uint32_t> seeds, Time now) {
  links_.clear();
  mark_ = graph_.new_mark();
  for (const std::uint32_t seed : seeds) reach(seed);
  collect(0);
  fill();
  apply(now, true);
  return changed_;
}

void FlowSolver::solve_alone(std::uint32_t index, Time now) {
  Flow& flow = graph_.flow(index);
  std::int64_t rate = kUnrated;
  std::uint32_t bottleneck = flow.crossings.front().link;
  for (const FlowCrossing& crossing : flow.crossings) {
    const Bandwidth bandwidth = graph_.link(crossing.link).bandwidth;
    const std::int64_t most =
        crossing.weight == kUnitWeight ? bandwidth.count() : fill_rate(capacity_of(bandwidth), crossing.weight);
    if (most >= rate) continue;
    rate = most;
    bottleneck = crossing.link;
  }
  std::int64_t& known = graph_.pace(index).rate;
  if (known != kUnrated) flow.advance(now, known);
  known = rate;
  graph_.set_bottleneck(flow, bottleneck, rate);
}

void FlowSolver::reach(std::uint32_t index) {
  FlowLink& link = graph_.link(index);
  if (link.mark == mark_) return;
  link.mark = mark_;
  link.local = static_cast<std::uint32_t>(links_.size());
  links_.push_back(index);
}

// Gathers the flows of at least `level` that share links with one another and with the links reached so far. The other
// flows keep what they take of these links.
void FlowSolver::collect(std::int64_t level) {
  flows_.clear();
  filling_.clear();
  for (std::size_t next = 0; next < links_.size(); ++next) {
    Int128 left = capacity_of(graph_.link(links_[next]).bandwidth);
    for (const FlowLink::User& user : graph_.link(links_[next]).users) {
      FlowPace& pace = graph_.pace(user.flow);
      if (pace.rate < level) {
        left -= Int128{pace.rate} * static_cast<std::int64_t>(user.weight);
      } else if (pace.mark != mark_) {
        pace.mark = mark_;
        flows_.push_back(user.flow);
        for (const FlowCrossing& crossing : graph_.flow(user.flow).crossings) reach(crossing.link);
      }
    }
    filling_.add_link(left);
  }
}

void FlowSolver::fill() {
  for (const std::uint32_t flow : flows_) {
    filling_.add_flow();
    for (const FlowCrossing& crossing : graph_.flow(flow).crossings)
      filling_.cross(graph_.link(crossing.link).local, crossing.weight);
  }
  filling_.solve();
}

void FlowSolver::apply(Time now, bool everything) {
  changed_.clear();
  for (std::uint32_t i = 0; i < flows_.size(); ++i) {
    Flow& flow = graph_.flow(flows_[i]);
    const std::int64_t rate = filling_.rate(i);
    graph_.set_bottleneck(flow, links_[filling_.bottleneck(i)], rate);
    std::int64_t& known = graph_.pace(flows_[i]).rate;
    if (known == rate && !everything) continue;
    if (known != kUnrated) flow.advance(now, known);
    known = rate;
    changed_.push_back(flows_[i]);
  }
}

// The rate at which the link fills if the flows that were solved before stop at the rates they have: the least rate at
// which anything can change because of those that joined.
std::int64_t FlowSolver::filling_level(const FlowLink& link) const {
  for (std::int64_t level = 0;;) {
    Int128 left = capacity_of(link.bandwidth);
    std::uint64_t weight = 0;
    for (const FlowLink::User& user : link.users) {
      const std::int64_t rate = graph_.pace(user.flow).rate;
      if (rate < level)
        left -= Int128{rate} * static_cast<std::int64_t>(user.weight);
      else
        weight += user.weight;
    }
    ORRERY_ASSERT(weight > 0);
    const std::int64_t next = fill_rate(left, weight);
    if (next == level) return level;
    level = next;
  }
}

}  // namespace orrery
