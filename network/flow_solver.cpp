#include "network/flow_solver.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery {
namespace {

// How often the concerned links are extended one by one, and what part of all flows may be on them. After that, all
// that can be reached are solved.
constexpr int kRounds = 8;
constexpr std::size_t kMostNear = 4;
// Where that was in vain, up to so many of the next solves do not try.
constexpr std::uint32_t kMostFarSolves = 31;
// How often the rate at which a link fills is brought closer, from below. Any lower rate is safe, it only costs time.
constexpr int kFillingSteps = 16;

}  // namespace

std::span<const std::uint32_t> FlowSolver::solve(std::span<const std::uint32_t> seeds, std::size_t flows, Time now) {
  changed_.clear();
  const std::int64_t level = reach_concerned(seeds);
  if (links_.empty()) return changed_;
  const bool near_first = far_solves_left_ == 0;
  if (!near_first) --far_solves_left_;
  bool far = !near_first;
  collect(level, far);
  fill();
  for (int round = 1; reach_further(); ++round) {
    far = round == kRounds || kMostNear * flows_.size() > flows;
    collect(level, far);
    fill();
  }
  if (near_first) {
    far_solves_ = far ? std::min(2 * far_solves_ + 1, kMostFarSolves) : far_solves_ / 2;
    far_solves_left_ = far_solves_;
  }
  apply(now, false);
  return changed_;
}

std::span<const std::uint32_t> FlowSolver::solve_all(std::span<const std::uint32_t> seeds, Time now) {
  links_.clear();
  mark_ = graph_.new_mark();
  for (const std::uint32_t seed : seeds) reach(seed);
  collect(0, true);
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
  graph_.set_rate(index, rate, now);
  graph_.set_bottleneck(flow, bottleneck, rate);
}

// The links on which the change makes a difference, and the least rate at which it does.
std::int64_t FlowSolver::reach_concerned(std::span<const std::uint32_t> seeds) {
  links_.clear();
  mark_ = graph_.new_mark();
  std::int64_t level = kUnrated;
  for (const std::uint32_t seed : seeds) {
    const FlowLink& link = graph_.link(seed);
    if (link.bound > 0) level = std::min(level, link.level);
    if (link.has_joined) level = std::min(level, filling_level(link));
    if (link.bound > 0 || link.has_joined) reach(seed);
  }
  return level;
}

// True if the link was not reached before.
bool FlowSolver::reach(std::uint32_t index) {
  FlowLink& link = graph_.link(index);
  if (link.mark == mark_) return false;
  link.mark = mark_;
  link.local = static_cast<std::uint32_t>(links_.size());
  links_.push_back(index);
  return true;
}

// Gathers the flows of at least `level` on the links reached so far; `far`: and those that share links with them. The
// other flows keep what they take of these links.
void FlowSolver::collect(std::int64_t level, bool far) {
  flows_.clear();
  filling_.clear();
  const std::uint64_t mark = graph_.new_mark();
  for (std::size_t next = 0; next < links_.size(); ++next) {
    Int128 left = capacity_of(graph_.link(links_[next]).bandwidth);
    for (const FlowLink::User& user : graph_.link(links_[next]).users) {
      FlowPace& pace = graph_.pace(user.flow);
      if (pace.rate < level) {
        left -= Int128{pace.rate} * static_cast<std::int64_t>(user.weight);
      } else if (pace.mark != mark) {
        pace.mark = mark;
        flows_.push_back(user.flow);
        if (!far) continue;
        for (const FlowCrossing& crossing : graph_.flow(user.flow).crossings) reach(crossing.link);
      }
    }
    filling_.add_link(left);
  }
}

void FlowSolver::fill() {
  held_mark_ = graph_.new_mark();
  for (const std::uint32_t index : flows_) {
    const Flow& flow = graph_.flow(index);
    filling_.add_flow();
    for (const FlowCrossing& crossing : flow.crossings) {
      const FlowLink& link = graph_.link(crossing.link);
      if (link.mark == mark_) filling_.cross(link.local, crossing.weight);
    }
    if (flow.bottleneck != kNoIndex && graph_.link(flow.bottleneck).mark != mark_) hold(graph_.link(flow.bottleneck));
  }
  filling_.solve();
}

// Holds the flow added last to the rate of its bottleneck, which was not reached: for the filling, that is one more
// link, just wide enough.
void FlowSolver::hold(FlowLink& link) {
  if (link.held_mark != held_mark_) {
    link.held_mark = held_mark_;
    link.local = filling_.add_link(0);
  }
  filling_.widen(link.local, capacity_of(Bandwidth(link.level)));
  filling_.cross(link.local, kUnitWeight);
}

// True if there are links that were not reached but are concerned; now they are reached. A link that holds nobody is
// not if there would be room even for 1 B/s more for everybody: then no floor can make it fill.
bool FlowSolver::reach_further() {
  bool found = false;
  const std::uint64_t mark = graph_.new_mark();
  for (std::uint32_t i = 0; i < flows_.size(); ++i) {
    const std::int64_t before = graph_.pace(flows_[i]).rate;
    const std::int64_t change = filling_.rate(i) - before;
    if (change == 0 || before == kUnrated) continue;
    for (const FlowCrossing& crossing : graph_.flow(flows_[i]).crossings) {
      FlowLink& link = graph_.link(crossing.link);
      if (link.mark == mark_) continue;
      if (link.rise_mark != mark) link.rise = 0;
      link.rise_mark = mark;
      link.rise += Int128{change} * static_cast<std::int64_t>(crossing.weight);
      const Int128 needed = link.load + link.rise + link.weight;
      if (link.bound > 0 || needed > capacity_of(link.bandwidth)) found |= reach(crossing.link);
    }
  }
  return found;
}

void FlowSolver::apply(Time now, bool everything) {
  changed_.clear();
  for (std::uint32_t i = 0; i < flows_.size(); ++i) {
    Flow& flow = graph_.flow(flows_[i]);
    const std::int64_t rate = filling_.rate(i);
    const std::uint32_t bottleneck = filling_.bottleneck(i);
    if (bottleneck < links_.size()) graph_.set_bottleneck(flow, links_[bottleneck], rate);
    if (graph_.pace(flows_[i]).rate == rate && !everything) continue;
    graph_.set_rate(flows_[i], rate, now);
    changed_.push_back(flows_[i]);
  }
}

// The rate at which the link fills if the flows that were solved before stop at the rates they have: the least rate at
// which anything can change because of those that joined.
std::int64_t FlowSolver::filling_level(const FlowLink& link) const {
  std::int64_t level = 0;
  for (int step = 0; step < kFillingSteps; ++step) {
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
    if (next == level) break;
    level = next;
  }
  return level;
}

}  // namespace orrery
