// SPDX-License-Identifier: MIT
#include "network/flow/components.h"

#include <algorithm>

#include "core/assert.h"

namespace orrery::network {

void FlowComponents::join(std::uint32_t index) {
  Flow& flow = graph_.flow(index);
  std::uint32_t component = kNoIndex;
  for (const FlowCrossing& crossing : flow.crossings) {
    const FlowLink& link = graph_.link(crossing.link);
    if (link.users.empty()) continue;
    const std::uint32_t other = graph_.flow(link.users.front().flow).component;
    component = component == kNoIndex ? other : merge(component, other);
  }
  if (component == kNoIndex) component = open();
  graph_.link_up(index, engine_.now());
  add(component, index, Time::max());
  touch(component);
  for (const FlowCrossing& crossing : flow.crossings) {
    add_seed(component, crossing.link);
    graph_.link(crossing.link).has_joined = true;
  }
}

void FlowComponents::adopt(std::uint32_t index, Time start) {
  const std::uint32_t component = open();
  graph_.link_up(index, start);
  // Who left these links before left nothing to solve there.
  for (const FlowCrossing& crossing : graph_.flow(index).crossings) graph_.link(crossing.link).seed_of = kNoIndex;
  solver_.solve_alone(index, start);
  add(component, index, finish(index));
  touch(component);
}

void FlowComponents::collect_ended(std::uint32_t index, std::vector<std::uint32_t>& ended) {
  Component& component = components_[index];
  component.due = Time::max();
  touch(index);
  for (std::size_t i = 0; i < component.flows.size(); ++i)
    if (component.finish[i] <= engine_.now()) ended.push_back(component.flows[i]);
}

void FlowComponents::remove(std::uint32_t index) {
  const Flow& flow = graph_.flow(index);
  Component& component = components_[flow.component];
  const std::uint32_t last = component.flows.back();
  component.flows[flow.place] = last;
  component.finish[flow.place] = component.finish.back();
  graph_.flow(last).place = flow.place;
  component.flows.pop_back();
  component.finish.pop_back();
  ++component.removed;
  for (const FlowCrossing& crossing : flow.crossings)
    if (graph_.link(crossing.link).users.size() > 1) add_seed(flow.component, crossing.link);
  graph_.remove(index, engine_.now());
}

std::vector<std::uint32_t> FlowComponents::flows() const {
  std::vector<std::uint32_t> flows;
  for (const Component& component : components_)
    flows.insert(flows.end(), component.flows.begin(), component.flows.end());
  return flows;
}

void FlowComponents::clear() {
  for (std::uint32_t index = 0; index < components_.size(); ++index) {
    if (components_[index].flows.empty()) continue;
    for (const std::uint32_t flow : components_[index].flows) graph_.remove(flow, engine_.now());
    close(index);
  }
}

void FlowComponents::settle() {
  if (reference_ != nullptr) touch_everything();
  // Splitting touches nothing: the parts are settled at once.
  for (std::size_t i = 0; i < touched_.size(); ++i)
    if (components_[touched_[i]].touched) settle(touched_[i]);
  touched_.clear();
}

std::uint32_t FlowComponents::open() {
  if (free_.empty()) {
    components_.emplace_back();
    return static_cast<std::uint32_t>(components_.size() - 1);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  return index;
}

void FlowComponents::close(std::uint32_t index) {
  Component& component = components_[index];
  unschedule(component);
  component.flows.clear();
  component.finish.clear();
  clear_seeds(index);
  component.removed = 0;
  component.touched = false;
  free_.push_back(index);
}

void FlowComponents::touch(std::uint32_t index) {
  if (components_[index].touched) return;
  components_[index].touched = true;
  touched_.push_back(index);
}

void FlowComponents::add(std::uint32_t index, std::uint32_t flow, Time finish) {
  Component& component = components_[index];
  graph_.flow(flow).component = index;
  graph_.flow(flow).place = static_cast<std::uint32_t>(component.flows.size());
  component.flows.push_back(flow);
  component.finish.push_back(finish);
}

void FlowComponents::add_seed(std::uint32_t component, std::uint32_t link) {
  if (graph_.link(link).seed_of == component) return;
  graph_.link(link).seed_of = component;
  components_[component].seeds.push_back(link);
}

// A link that lost all its users may have become a seed of another component since.
void FlowComponents::clear_seeds(std::uint32_t index) {
  for (const std::uint32_t seed : components_[index].seeds) {
    FlowLink& link = graph_.link(seed);
    if (link.seed_of != index) continue;
    link.seed_of = kNoIndex;
    link.has_joined = false;
  }
  components_[index].seeds.clear();
}

// The smaller moves into the larger, which is returned.
std::uint32_t FlowComponents::merge(std::uint32_t a, std::uint32_t b) {
  if (a == b) return a;
  if (components_[a].flows.size() < components_[b].flows.size()) std::swap(a, b);
  Component& from = components_[b];
  for (std::size_t i = 0; i < from.flows.size(); ++i) add(a, from.flows[i], from.finish[i]);
  for (const std::uint32_t seed : from.seeds)
    if (graph_.link(seed).seed_of == b) add_seed(a, seed);
  components_[a].removed += from.removed;
  close(b);
  return a;
}

void FlowComponents::settle(std::uint32_t index) {
  components_[index].touched = false;
  solve(index);
  const Component& component = components_[index];
  if (component.flows.empty()) return close(index);
  if (component.flows.size() > 1 && component.removed >= component.flows.size()) return split(index);
  schedule(index);
}

void FlowComponents::solve(std::uint32_t index) {
  Component& component = components_[index];
  std::erase_if(component.seeds, [&](std::uint32_t seed) { return graph_.link(seed).seed_of != index; });
  if (component.flows.size() == 1) {
    solver_.solve_alone(component.flows[0], engine_.now());
    component.finish[0] = finish(component.flows[0]);
    component.removed = 0;
  } else {
    const auto changed = reference_ != nullptr ? solver_.solve_all(component.flows, engine_.now(), *reference_)
                                               : solver_.solve(component.seeds, component.flows.size(), engine_.now());
    for (const std::uint32_t flow : changed) component.finish[graph_.flow(flow).place] = finish(flow);
  }
  clear_seeds(index);
}

void FlowComponents::split(std::uint32_t index) {
  apart_ = components_[index].flows;
  finish_apart_ = components_[index].finish;
  close(index);
  const std::uint64_t mark = graph_.new_mark();
  for (std::uint32_t place = 0; place < apart_.size(); ++place) {
    if (graph_.flow(apart_[place]).mark == mark) continue;
    const std::uint32_t part = open();
    grow(part, apart_[place], mark);
    schedule(part);
  }
}

// Fills a part with all flows that hang together with `first`. Until a flow is added, its place is that in apart_.
void FlowComponents::grow(std::uint32_t part, std::uint32_t first, std::uint64_t mark) {
  const auto take = [&](std::uint32_t index) {
    Flow& flow = graph_.flow(index);
    if (flow.mark == mark) return;
    flow.mark = mark;
    add(part, index, finish_apart_[flow.place]);
  };
  take(first);
  for (std::size_t next = 0; next < components_[part].flows.size(); ++next)
    for (const FlowCrossing& crossing : graph_.flow(components_[part].flows[next]).crossings) {
      FlowLink& link = graph_.link(crossing.link);
      if (link.mark == mark) continue;
      link.mark = mark;
      for (const FlowLink::User& user : link.users) take(user.flow);
    }
}

void FlowComponents::schedule(std::uint32_t index) {
  Component& component = components_[index];
  Time next = Time::max();
  for (const Time finish : component.finish) next = std::min(next, finish);
  if (component.due == next && next != Time::max()) return;
  unschedule(component);
  component.event = engine_.after(next - engine_.now(), sink_, index);
  component.due = next;
}

void FlowComponents::unschedule(Component& component) {
  if (component.due == Time::max()) return;
  engine_.cancel(component.event);
  component.due = Time::max();
}

void FlowComponents::touch_everything() {
  for (std::uint32_t index = 0; index < components_.size(); ++index)
    if (!components_[index].flows.empty()) touch(index);
}

}  // namespace orrery::network
