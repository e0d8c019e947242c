// SPDX-License-Identifier: MIT
#include "network/flow/uncontended.h"

#include <algorithm>

namespace orrery::network {

UncontendedFlows::Start UncontendedFlows::start(const UncontendedFlow& flow) {
  if (!paths_.can_be_alone(flow.path)) return Start::kRefused;
  if (holders_.size() < paths_.size()) holders_.resize(paths_.size());
  Holder& self = holder(flow.path);
  book_end(flow.path);
  if (self.state == State::kTold || self.state == State::kPredicted) return Start::kRefused;
  if (self.state == State::kAway && !take_links(flow.path)) return Start::kRefused;
  self.bytes = flow.bytes;
  self.recipient = flow.recipient;
  self.id = flow.id;
  self.transfer = flow.transfer;
  self.start = engine_.now();
  self.may_predict = flow.may_predict;
  if (!is_predicted(flow)) {
    self.state = State::kTold;
    self.end = engine_.after(flow.transfer, sink_, tag_ + static_cast<std::uint32_t>(flow.path));
    return Start::kStarted;
  }
  self.state = State::kPredicted;
  self.end = flow.recipient->arrive(engine_, saturating_add(flow.transfer, paths_[flow.path].latency), flow.id);
  return Start::kPredicted;
}

// Its release and its arrival are not in one instant.
bool UncontendedFlows::is_predicted(const UncontendedFlow& flow) const {
  return flow.may_predict && paths_[flow.path].latency > Duration::zero();
}

UncontendedFlow UncontendedFlows::end(PathId path) {
  Holder& self = holder(path);
  if (paths_.is_group(path))
    book_group(path, self.transfer);
  else
    self.busy += self.transfer;
  self.state = State::kIdle;
  return flow_of(path);
}

std::optional<UncontendedFlow> UncontendedFlows::evict(LinkId link) {
  const PathId path = links_.at(index_of(link)).holder;
  if (path == kNobody || is_free(links_.own(index_of(link)))) return std::nullopt;
  engine_.cancel(holder(path).end);
  if (paths_.is_group(path)) book_group(path, engine_.now() - holder(path).start);
  hand_over(path);
  return flow_of(path);
}

std::vector<UncontendedFlow> UncontendedFlows::evict_all() {
  std::vector<UncontendedFlow> evicted;
  links_.for_each_own([&](std::size_t link, const LinkState&) {
    if (const auto flow = evict(LinkId(static_cast<std::uint32_t>(link)))) evicted.push_back(*flow);
  });
  return evicted;
}

void UncontendedFlows::add_busy(PagedArray<LinkUsage>& usage) const {
  links_.for_each_own([&](std::size_t link, const LinkState& state) {
    if (state.busy > Duration::zero()) usage.own(link).busy += state.busy;
    if (state.holder == kNobody) return;
    const Holder& by = holder(state.holder);
    usage.own(link).busy += by.busy;
    if (by.state != State::kIdle && !paths_.is_group(state.holder))
      usage.own(link).busy += std::min(engine_.now(), by.release()) - by.start;
  });
  for (std::uint32_t path = 0; path < holders_.size(); ++path) {
    if (!paths_.is_group(PathId(path)) || holders_[path].state != State::kTold) continue;
    for (const auto& [load, transfer] : paths_.loads(PathId(path)))
      usage.own(index_of(load.link)).busy += std::min(engine_.now() - holders_[path].start, transfer);
  }
}

UncontendedFlow UncontendedFlows::flow_of(PathId path) const {
  const Holder& by = holder(path);
  return {{path, by.bytes, by.recipient, by.id, by.may_predict}, by.transfer, by.start};
}

// Nobody was told when a predicted flow was through: that is noticed here.
void UncontendedFlows::book_end(PathId path) {
  Holder& by = holder(path);
  if (by.state != State::kPredicted || by.release() > engine_.now()) return;
  by.busy += by.transfer;
  by.state = State::kIdle;
}

// For how long each link has carried the group, `until` after its start.
void UncontendedFlows::book_group(PathId path, Duration until) {
  for (const auto& [load, transfer] : paths_.loads(path))
    links_.own(index_of(load.link)).busy += std::min(transfer, until);
}

// All or none.
bool UncontendedFlows::take_links(PathId path) {
  const std::span<const LinkId> links = paths_.links(path, taking_);
  for (std::size_t taken = 0; taken < links.size(); ++taken) {
    LinkState& state = links_.own(index_of(links[taken]));
    if (state.holder != path && is_free(state)) {
      state.holder = path;
      continue;
    }
    for (const LinkId link : links.first(taken)) links_.own(index_of(link)).holder = kNobody;
    return false;
  }
  return true;
}

// A flow that is under way is gone.
void UncontendedFlows::hand_over(PathId path) {
  Holder& self = holder(path);
  for (const LinkId link : paths_.links(path)) {
    LinkState& state = links_.own(index_of(link));
    state.holder = kNobody;
    state.busy += self.busy;
  }
  self.busy = Duration::zero();
  self.state = State::kAway;
}

bool UncontendedFlows::is_free(LinkState& state) {
  if (state.sharing > 0) return false;
  if (state.holder == kNobody) return true;
  book_end(state.holder);
  const Holder& by = holder(state.holder);
  if (by.state != State::kIdle) return false;
  hand_over(state.holder);
  return true;
}

}  // namespace orrery::network
