#include "network/solo_flows.h"

#include <algorithm>

namespace orrery {

SoloFlows::Start SoloFlows::start(SoloFlow flow) {
  if (!paths_.can_be_alone(flow.path)) return Start::kRefused;
  flow.start = engine_.now();
  const std::uint32_t number = flows_.put(flow);
  std::size_t taken = 0;
  for (const LinkId link : paths_.links(flow.path, starting_)) {
    Lane& lane = lanes_[index_of(link)];
    if (!is_free(lane)) {
      leave(flow, taken, Duration::zero());
      flows_.release(number);
      return Start::kRefused;
    }
    lane.flow = number;
    ++taken;
  }
  if (!is_foretold(flow)) {
    flows_[number].end = engine_.after(flow.transfer, sink_, tag_ + number);
    return Start::kStarted;
  }
  const Duration arrival = saturating_add(flow.transfer, paths_[flow.path].latency);
  flows_[number].end = events_.arrive(arrival, flow.token);
  return Start::kForetold;
}

// Its release and its arrival are not in one instant.
bool SoloFlows::is_foretold(const SoloFlow& flow) const {
  return flow.may_foretell && paths_[flow.path].latency > Duration::zero();
}

// Nobody was told when a foretold flow was through: it leaves its links when that is noticed.
bool SoloFlows::is_free(Lane& lane) {
  if (lane.sharing > 0) return false;
  if (lane.flow == kNone) return true;
  const SoloFlow flow = flows_[lane.flow];
  if (!is_foretold(flow) || flow.release() > engine_.now()) return false;
  flows_.release(lane.flow);
  leave(flow, SIZE_MAX, flow.transfer);
  return true;
}

SoloFlow SoloFlows::end(std::uint32_t number) {
  const SoloFlow flow = flows_[number];
  flows_.release(number);
  leave(flow, SIZE_MAX, flow.transfer);
  return flow;
}

std::optional<SoloFlow> SoloFlows::evict(LinkId link) {
  const std::uint32_t number = lanes_[index_of(link)].flow;
  if (number == kNone || is_free(lanes_[index_of(link)])) return std::nullopt;
  const SoloFlow flow = flows_[number];
  flows_.release(number);
  engine_.cancel(flow.end);
  leave(flow, SIZE_MAX, Duration::zero());
  return flow;
}

std::vector<SoloFlow> SoloFlows::evict_all() {
  std::vector<SoloFlow> evicted;
  for (std::uint32_t link = 0; link < lanes_.size(); ++link)
    if (const auto flow = evict(LinkId(link))) evicted.push_back(*flow);
  return evicted;
}

void SoloFlows::add_busy(std::vector<LinkUsage>& usage) const {
  for (std::size_t link = 0; link < lanes_.size(); ++link) {
    const Lane& lane = lanes_[link];
    usage[link].busy += lane.busy;
    if (lane.flow != kNone)
      usage[link].busy += std::min(engine_.now(), flows_[lane.flow].release()) - flows_[lane.flow].start;
  }
}

void SoloFlows::leave(const SoloFlow& flow, std::size_t count, Duration busy) {
  for (const LinkId link : paths_.links(flow.path)) {
    if (count-- == 0) return;
    Lane& lane = lanes_[index_of(link)];
    lane.flow = kNone;
    lane.busy += busy;
  }
}

}  // namespace orrery
