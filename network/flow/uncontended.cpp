#include "network/flow/uncontended.h"

#include <algorithm>

namespace orrery {

SoloFlows::Start SoloFlows::start(const SoloFlow& flow) {
  if (!paths_.can_be_alone(flow.path)) return Start::kRefused;
  if (holders_.size() < paths_.size()) holders_.resize(paths_.size());
  Holder& self = holder(flow.path);
  book_end(flow.path);
  if (self.state == State::kTold || self.state == State::kForetold) return Start::kRefused;
  if (self.state == State::kAway && !take_links(flow.path)) return Start::kRefused;
  self.bytes = flow.bytes;
  self.token = flow.token;
  self.transfer = flow.transfer;
  self.start = engine_.now();
  self.may_foretell = flow.may_foretell;
  if (!is_foretold(flow)) {
    self.state = State::kTold;
    self.end = engine_.after(flow.transfer, sink_, tag_ + static_cast<std::uint32_t>(flow.path));
    return Start::kStarted;
  }
  self.state = State::kForetold;
  self.end = events_.arrive(saturating_add(flow.transfer, paths_[flow.path].latency), flow.token);
  return Start::kForetold;
}

// Its release and its arrival are not in one instant.
bool SoloFlows::is_foretold(const SoloFlow& flow) const {
  return flow.may_foretell && paths_[flow.path].latency > Duration::zero();
}

SoloFlow SoloFlows::end(PathId path) {
  Holder& self = holder(path);
  if (paths_.is_group(path))
    book_group(path, self.transfer);
  else
    self.busy += self.transfer;
  self.state = State::kIdle;
  return flow_of(path);
}

std::optional<SoloFlow> SoloFlows::evict(LinkId link) {
  const PathId path = lanes_[index_of(link)].holder;
  if (path == kNobody || is_free(lanes_[index_of(link)])) return std::nullopt;
  engine_.cancel(holder(path).end);
  if (paths_.is_group(path)) book_group(path, engine_.now() - holder(path).start);
  hand_over(path);
  return flow_of(path);
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
    if (lane.holder == kNobody) continue;
    const Holder& by = holder(lane.holder);
    usage[link].busy += by.busy;
    if (by.state != State::kIdle && !paths_.is_group(lane.holder))
      usage[link].busy += std::min(engine_.now(), by.release()) - by.start;
  }
  for (std::uint32_t path = 0; path < holders_.size(); ++path) {
    if (!paths_.is_group(PathId(path)) || holders_[path].state != State::kTold) continue;
    for (const auto& [load, transfer] : paths_.loads(PathId(path)))
      usage[index_of(load.link)].busy += std::min(engine_.now() - holders_[path].start, transfer);
  }
}

SoloFlow SoloFlows::flow_of(PathId path) const {
  const Holder& by = holder(path);
  return {path, by.bytes, by.token, by.transfer, by.may_foretell, by.start};
}

// Nobody was told when a foretold flow was through: that is noticed here.
void SoloFlows::book_end(PathId path) {
  Holder& by = holder(path);
  if (by.state != State::kForetold || by.release() > engine_.now()) return;
  by.busy += by.transfer;
  by.state = State::kIdle;
}

// For how long each link has carried the group, `until` after its start.
void SoloFlows::book_group(PathId path, Duration until) {
  for (const auto& [load, transfer] : paths_.loads(path)) lanes_[index_of(load.link)].busy += std::min(transfer, until);
}

// All or none.
bool SoloFlows::take_links(PathId path) {
  const std::span<const LinkId> links = paths_.links(path, taking_);
  for (std::size_t taken = 0; taken < links.size(); ++taken) {
    Lane& lane = lanes_[index_of(links[taken])];
    if (lane.holder != path && is_free(lane)) {
      lane.holder = path;
      continue;
    }
    for (const LinkId link : links.first(taken)) lanes_[index_of(link)].holder = kNobody;
    return false;
  }
  return true;
}

// A flow that is under way is gone.
void SoloFlows::hand_over(PathId path) {
  Holder& self = holder(path);
  for (const LinkId link : paths_.links(path)) {
    Lane& lane = lanes_[index_of(link)];
    lane.holder = kNobody;
    lane.busy += self.busy;
  }
  self.busy = Duration::zero();
  self.state = State::kAway;
}

bool SoloFlows::is_free(Lane& lane) {
  if (lane.sharing > 0) return false;
  if (lane.holder == kNobody) return true;
  book_end(lane.holder);
  const Holder& by = holder(lane.holder);
  if (by.state != State::kIdle) return false;
  hand_over(lane.holder);
  return true;
}

}  // namespace orrery
