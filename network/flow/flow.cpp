// SPDX-License-Identifier: MIT
#include "network/flow/flow.h"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/assert.h"

namespace orrery::network {
namespace {

void cross(FlowGraph& graph, std::uint32_t flow, PathTable& paths, PathId path) {
  const std::span<const LinkShare> shares = paths.shares(path);
  for (const LinkShare& share : shares) graph.cross(flow, share.link, share.weight());
  if (shares.empty())
    for (const LinkId link : paths.links(path)) graph.cross(flow, link, 1);
}

template <class T>
void set_at(std::vector<T>& values, std::uint32_t index, const T& value) {
  if (index >= values.size()) values.resize(index + 1);
  values[index] = value;
}

// Reports the end of a transfer; the message arrives after the latency of its path.
void report_end(Engine& engine, MessageRecipient& recipient, std::uint32_t id, Duration latency) {
  recipient.on_released(id);
  if (latency == Duration::zero())
    recipient.on_arrived(id);
  else
    recipient.arrive(engine, latency, id);
}

std::vector<UncontendedFlow> parts_of(const UncontendedFlow& message) {
  std::vector<UncontendedFlow> parts;
  for (const MessagePart& part : message.recipient->parts_of(message.id)) {
    parts.push_back(message);
    parts.back().path = part.path;
    parts.back().id = part.id;
  }
  return parts;
}

}  // namespace

void ChangeAlarm::set(Engine& engine, EventSink& sink, std::uint64_t payload, FlowGraph& graph) {
  Time due = Time::max();
  for (const std::uint32_t link : graph.changing())
    if (!graph.link(link).users.empty()) due = std::min(due, graph.link(link).change);
  if (due == due_) return;
  if (due_ != Time::max()) engine.cancel(event_);
  due_ = due;
  if (due != Time::max()) event_ = engine.after(due - engine.now(), sink, payload);
}

FlowNetwork::FlowNetwork(Engine& engine, const Fabric& fabric)
    : Network(engine, fabric),
      graph_(fabric),
      ends_(engine, *this, kEnds, graph_),
      solver_(graph_, ends_),
      uncontended_(engine, *this, kUncontended, paths_, fabric.link_count()) {}

Time FlowNetwork::start(const Message& message) {
  const PathId path = message.path;
  const Duration transfer = paths_.is_group(path) ? paths_.send_group(path) : paths_.send(path, message.bytes);
  if (transfer == Duration::zero())
    message.recipient->deliver(engine_, transfer, paths_[path].latency, message.id);
  else
    started_.push_back({message, transfer, {}});
  return kNotPredicted;
}

Duration FlowNetwork::count_private(PathId path, Bytes bytes, std::uint64_t messages) {
  const auto times = static_cast<std::int64_t>(messages);
  const Duration transfer = paths_.send(path, bytes, times);
  uncontended_.count(path, transfer, times);
  return transfer;
}

bool FlowNetwork::count_groups(PathId path, std::uint64_t groups) {
  if (!paths_.has_links_once(path) || !paths_.can_be_alone(path)) return false;
  paths_.send_group(path, static_cast<std::int64_t>(groups));
  uncontended_.count_groups(path, static_cast<std::int64_t>(groups));
  return true;
}

std::optional<Duration> FlowNetwork::time_alone(PathId path, Bytes bytes) {
  if (!paths_.has_links_once(path) || !paths_.can_be_alone(path)) return std::nullopt;
  return paths_.is_group(path) ? paths_.send_group(path, 0) : paths_.send(path, bytes, 0);
}

void FlowNetwork::settle() {
  for (UncontendedFlow& message : started_) {
    message.start = engine_.now();
    const auto start = uncontended_.start(message);
    if (start == UncontendedFlows::Start::kRefused) share(message);
    if (start == UncontendedFlows::Start::kPredicted)
      message.recipient->on_release_predicted(message.id, engine_.now() + message.transfer);
  }
  started_.clear();
  if (!fabric_.is_steady()) change_links();
  solver_.solve();
  ends_.settle();
  if (!fabric_.is_steady()) change_.set(engine_, *this, kChange, graph_);
}

// Links that are new to the graph, too, get what they have now.
void FlowNetwork::change_links() {
  std::vector<std::uint32_t> due;
  bool is_used = false;
  for (const std::uint32_t link : graph_.changing()) {
    if (graph_.link(link).change > engine_.now()) continue;
    due.push_back(link);
    is_used = is_used || !graph_.link(link).users.empty();
  }
  if (due.empty()) return;
  const std::vector<Moving> moving = is_used ? take_off() : std::vector<Moving>();
  for (const std::uint32_t link : due) graph_.change(link, engine_.now());
  for (const Moving& message : moving) put_back(message);
}

// On the links that it was on.
void FlowNetwork::put_back(const Moving& message) {
  if (message.owner.group != kNoIndex) return share(create_part(message));
  const std::uint32_t flow = graph_.create(message.left);
  set_at(owners_, flow, message.owner);
  cross(graph_, flow, paths_, message.owner.path);
  share(flow);
}

PagedArray<LinkUsage> FlowNetwork::usage() const {
  PagedArray<LinkUsage> usage(fabric_.link_count());
  graph_.add_busy(usage, engine_.now());
  paths_.add_sent(usage);
  uncontended_.add_busy(usage);
  return usage;
}

void FlowNetwork::on_event(std::uint64_t payload) {
  if (payload >= kUncontended) {
    // Not as a Message: that would be copied in other pieces than it was just written in, which takes a while.
    const UncontendedFlow flow = uncontended_.end(PathId(static_cast<std::uint32_t>(payload)));
    return report_end(engine_, *flow.recipient, flow.id, paths_[flow.path].latency);
  }
  if (payload == kChange) {
    change_.rang();  // settle() does the rest
    return;
  }
  ending_.clear();
  ended_.clear();
  ends_.collect(ending_);
  for (const std::uint32_t flow : ending_) end(flow);
  for (const Owner& owner : ended_) report_end(engine_, *owner.recipient, owner.id, paths_[owner.path].latency);
}

void FlowNetwork::end(std::uint32_t flow) {
  const Owner owner = owners_[flow];
  remove(flow);
  if (owner.group == kNoIndex) return ended_.push_back(owner);
  if (--groups_[owner.group].flows > 0) return;
  ended_.push_back(owner);
  groups_.release(owner.group);
}

// A message that does not have its links to itself.
void FlowNetwork::share(const UncontendedFlow& message) {
  if (!paths_.is_group(message.path)) return join(create(message));
  for (const Moving& part : left_of_group(message)) join(create_part(part));
}

// Until now the flow had its links to itself, so its progress follows from the elapsed time.
std::uint32_t FlowNetwork::create(const UncontendedFlow& message) {
  const Duration elapsed = engine_.now() - message.start;
  const Int128 sent = Int128{paths_[message.path].narrowest.count()} * elapsed.count();
  const std::uint32_t flow = graph_.create(work_of(message.bytes) - sent);
  set_at(owners_, flow, {message.recipient, message.id, message.path});
  cross(graph_, flow, paths_, message.path);
  return flow;
}

// Takes up a group with links to itself, and returns the work that it still has on them.
std::vector<FlowNetwork::Moving> FlowNetwork::left_of_group(const UncontendedFlow& message) {
  const Duration elapsed = engine_.now() - message.start;
  const std::uint32_t group = groups_.put({});
  std::vector<Moving> parts;
  const std::span<const PathTable::GroupLoad> loads = paths_.loads(message.path);
  for (std::uint32_t i = 0; i < loads.size(); ++i) {
    const auto& [load, transfer] = loads[i];
    if (transfer <= elapsed) continue;
    const Int128 left = work_of(load.bytes) - Int128{rate_alone(fabric_, load).count()} * elapsed.count();
    const Int128 left_of_each = (left + load.connections - 1) / load.connections;
    parts.push_back({left_of_each, {message.recipient, message.id, message.path, group, i}, load});
  }
  groups_[group].flows = parts.size();
  return parts;
}

std::uint32_t FlowNetwork::create_part(const Moving& part) {
  const std::uint32_t flow = graph_.create(part.left);
  set_at(owners_, flow, part.owner);
  graph_.cross(flow, part.load.link, part.load.weight());
  return flow;
}

// One that had its links to itself until now.
void FlowNetwork::adopt(const UncontendedFlow& message) {
  if (paths_.is_group(message.path)) return share(message);
  if (uncontended_.is_predicted(message)) message.recipient->on_delayed(message.id);
  const std::uint32_t flow = create(message);
  share_links(flow);
  graph_.link_up(flow, message.start);
  solver_.solve_alone(flow);
}

// All leave their links, then their parts come to theirs: settle() gives them the rates that they had.
void FlowNetwork::split(std::span<const LinkSplit> links) {
  std::vector<Moving> moving = take_off();
  std::vector<UncontendedFlow> alone = uncontended_.evict_all();
  for (const UncontendedFlow& message : alone) {
    if (!paths_.is_group(message.path)) continue;
    const std::vector<Moving> parts = left_of_group(message);
    moving.insert(moving.end(), parts.begin(), parts.end());
  }
  std::erase_if(alone, [&](const UncontendedFlow& message) { return paths_.is_group(message.path); });
  paths_.split(links);
  graph_.split(links);
  uncontended_.split(links);
  for (const UncontendedFlow& message : alone)
    for (const UncontendedFlow& part : parts_of(message)) adopt(part);
  put_back(moving, links);
  for (const UncontendedFlow& message : std::exchange(started_, {}))
    for (const UncontendedFlow& part : parts_of(message)) started_.push_back(part);
}

std::vector<FlowNetwork::Moving> FlowNetwork::take_off() {
  std::vector<Moving> moving;
  for (const std::uint32_t flow : graph_.flows()) {
    remove(flow);
    Moving& message = moving.emplace_back(Moving{graph_.flow(flow).end, owners_[flow], {}});
    if (message.owner.group != kNoIndex) message.load = paths_.loads(message.owner.path)[message.owner.load].load;
  }
  solver_.forget();
  return moving;
}

void FlowNetwork::put_back(std::span<const Moving> moving, std::span<const LinkSplit> links) {
  std::map<LinkId, LinkId> parents;
  for (const LinkSplit& split : links) parents[split.link] = split.parent;
  // A group may have several loads on the acting link of a class, of other bytes or connections.
  using LoadKey = std::tuple<LinkId, Bytes, std::uint32_t>;
  std::map<std::uint32_t, std::map<LoadKey, Int128>> left_of_group;
  std::map<std::uint32_t, Owner> owner_of_group;
  for (const Moving& message : moving) {
    if (message.owner.group != kNoIndex) {
      const LinkLoad& load = message.load;
      left_of_group[message.owner.group][{load.link, load.bytes, load.connections}] = message.left;
      owner_of_group[message.owner.group] = message.owner;
      continue;
    }
    for (const MessagePart& part : message.owner.recipient->parts_of(message.owner.id)) {
      const std::uint32_t flow = graph_.create(message.left);
      set_at(owners_, flow, {message.owner.recipient, part.id, part.path});
      cross(graph_, flow, paths_, part.path);
      share(flow);
    }
  }
  for (const auto& [number, left] : left_of_group) {
    groups_.release(number);
    const Owner& whole = owner_of_group[number];
    for (const MessagePart& part : whole.recipient->parts_of(whole.id)) {
      const std::uint32_t group = groups_.put({});
      const std::span<const PathTable::GroupLoad> loads = paths_.loads(part.path);
      for (std::uint32_t i = 0; i < loads.size(); ++i) {
        const LinkLoad& load = loads[i].load;
        const auto parent = parents.find(load.link);
        const LinkId acting = parent == parents.end() ? load.link : parent->second;
        const auto known = left.find({acting, load.bytes, load.connections});
        if (known == left.end()) continue;  // that link is through
        share(create_part({known->second, {whole.recipient, part.id, part.path, group, i}, load}));
        ++groups_[group].flows;
      }
      ORRERY_ASSERT(groups_[group].flows > 0);
    }
  }
}

// Flows that had its links to themselves join the graph as well.
void FlowNetwork::join(std::uint32_t flow) {
  for (std::size_t i = 0; i < graph_.flow(flow).crossings.size(); ++i) {
    const LinkId link = graph_.link(graph_.flow(flow).crossings[i].link).id;
    if (const std::optional<UncontendedFlow> other = uncontended_.evict(link)) adopt(*other);
  }
  share(flow);
}

void FlowNetwork::share(std::uint32_t flow) {
  share_links(flow);
  graph_.link_up(flow, engine_.now());
  solver_.join(flow);
}

void FlowNetwork::share_links(std::uint32_t flow) {
  for (const FlowCrossing& crossing : graph_.flow(flow).crossings) uncontended_.share(graph_.link(crossing.link).id);
}

void FlowNetwork::remove(std::uint32_t flow) {
  for (const FlowCrossing& crossing : graph_.flow(flow).crossings) uncontended_.unshare(graph_.link(crossing.link).id);
  solver_.leave(flow);
  if (graph_.bottleneck(flow) != kNoIndex) ends_.unbind(flow);
  graph_.remove(flow, engine_.now());
}

}  // namespace orrery::network
