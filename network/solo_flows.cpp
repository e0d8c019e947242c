#include "network/solo_flows.h"

namespace orrery {

bool SoloFlows::start(SoloFlow flow) {
  if (!paths_.can_be_alone(flow.path)) return false;
  const std::uint32_t number = flows_.put(flow);
  std::size_t taken = 0;
  for (const LinkId link : paths_.links(flow.path)) {
    Lane& lane = lanes_[index_of(link)];
    if (lane.flow != kNone || lane.sharing > 0) {
      leave(flow, taken, Duration::zero());
      flows_.release(number);
      return false;
    }
    lane.flow = number;
    ++taken;
  }
  flows_[number].start = engine_.now();
  flows_[number].end = engine_.after(flow.transfer, sink_, tag_ + number);
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
  if (number == kNone) return std::nullopt;
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
    if (lane.flow != kNone) usage[link].busy += engine_.now() - flows_[lane.flow].start;
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
