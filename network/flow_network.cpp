#include "network/flow_network.h"

#include "core/assert.h"

namespace orrery {

FlowNetwork::FlowNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener, Resolve resolve)
    : engine_(engine),
      listener_(listener),
      events_(engine, listener),
      paths_(fabric),
      graph_(fabric),
      components_(engine, *this, graph_, resolve),
      solos_(engine, *this, kSolo, events_, paths_, fabric.link_count()),
      resolve_(resolve) {}

void FlowNetwork::start(PathId path, Bytes bytes, std::uint64_t token, bool may_foretell) {
  const Duration transfer = paths_.send(path, bytes);
  if (transfer == Duration::zero()) return events_.deliver(Duration::zero(), paths_[path].latency, token);
  started_.push_back({path, bytes, token, transfer, may_foretell, {}});
}

void FlowNetwork::start_group(std::span<const LinkShare> shares, Bytes busiest, Duration latency, std::uint64_t token) {
  ORRERY_ASSERT(busiest >= Bytes(0));
  if (shares.empty() || busiest == Bytes(0)) return events_.deliver(Duration::zero(), latency, token);
  started_groups_.push_back({{shares.begin(), shares.end()}, busiest, latency, token});
}

Duration FlowNetwork::count_private(PathId path, Bytes bytes, std::uint32_t messages) {
  const Duration transfer = paths_.send(path, bytes, messages);
  solos_.count(path, transfer * messages);
  return transfer;
}

void FlowNetwork::settle() {
  for (const SoloFlow& message : started_) {
    const auto start = resolve_ == Resolve::kEverything ? SoloFlows::Start::kRefused : solos_.start(message);
    if (start == SoloFlows::Start::kRefused) join(create(message.path, message.bytes, message.token));
    if (start == SoloFlows::Start::kForetold) listener_.on_foretold(message.token, engine_.now() + message.transfer);
  }
  started_.clear();
  for (const StartedGroup& group : started_groups_) {
    const std::uint32_t flow = graph_.create(group.busiest, group.latency, group.token);
    for (const LinkShare& share : group.shares) graph_.cross(flow, share, group.busiest);
    join(flow);
  }
  started_groups_.clear();
  components_.settle();
}

std::vector<LinkUsage> FlowNetwork::link_usage() const {
  std::vector<LinkUsage> usage = graph_.usage(engine_.now());
  paths_.add_sent(usage);
  solos_.add_busy(usage);
  return usage;
}

void FlowNetwork::on_event(std::uint64_t payload) {
  if (payload >= kSolo) {
    const SoloFlow message = solos_.end(PathId(static_cast<std::uint32_t>(payload)));
    return report_end({message.token, paths_[message.path].latency});
  }
  ending_.clear();
  ended_.clear();
  components_.collect_ended(static_cast<std::uint32_t>(payload), ending_);
  for (const std::uint32_t flow : ending_) {
    ended_.push_back({graph_.flow(flow).token, graph_.flow(flow).latency});
    remove(flow);
  }
  for (const Ended& message : ended_) report_end(message);
}

// Its bytes are counted with the path's.
std::uint32_t FlowNetwork::create(PathId path, Bytes bytes, std::uint64_t token) {
  const std::uint32_t flow = graph_.create(bytes, paths_[path].latency, token);
  cross(flow, path);
  return flow;
}

void FlowNetwork::cross(std::uint32_t flow, PathId path) {
  const std::span<const LinkShare> shares = paths_.shares(path);
  for (const LinkShare& share : shares) graph_.cross(flow, share, Bytes(0));
  if (shares.empty())
    for (const LinkId link : paths_.links(path)) graph_.cross(flow, {link}, Bytes(0));
}

// All leave their links, then their parts come to theirs: settle() gives them the rates that they had.
void FlowNetwork::split(std::span<const LinkSplit> links) {
  struct Moving {
    Int128 left;
    Duration latency;
    std::uint64_t token;
  };
  std::vector<Moving> moving;
  for (const std::uint32_t flow : components_.flows()) {
    graph_.set_rate(flow, graph_.rate(flow), engine_.now());
    moving.push_back({graph_.flow(flow).left, graph_.flow(flow).latency, graph_.flow(flow).token});
    for (const FlowCrossing& crossing : graph_.flow(flow).crossings) solos_.unshare(graph_.link(crossing.link).id);
  }
  components_.clear();
  const std::vector<SoloFlow> alone = solos_.evict_all();
  paths_.split(links);
  graph_.split(links);
  solos_.split(links);
  for (const SoloFlow& message : alone)
    for (const MessagePart& part : listener_.parts_of(message.token)) {
      if (solos_.is_foretold(message)) listener_.on_delayed(part.token);
      const std::uint32_t flow = create(part.path, message.bytes, part.token);
      share_links(flow);
      components_.adopt(flow, message.start);
    }
  for (const Moving& message : moving)
    for (const MessagePart& part : listener_.parts_of(message.token)) {
      const std::uint32_t flow = graph_.create_part(message.left, message.latency, part.token);
      if (part.shares.empty()) cross(flow, part.path);
      for (const LinkShare& share : part.shares) graph_.cross(flow, share, Bytes(0));
      share_links(flow);
      components_.join(flow);
    }
  split_started();
}

// What was started in this instant is on no link yet.
void FlowNetwork::split_started() {
  std::vector<SoloFlow> started;
  for (SoloFlow message : started_)
    for (const MessagePart& part : listener_.parts_of(message.token)) {
      message.path = part.path;
      message.token = part.token;
      started.push_back(message);
    }
  started_.swap(started);
  std::vector<StartedGroup> groups;
  for (const StartedGroup& group : started_groups_)
    for (const MessagePart& part : listener_.parts_of(group.token))
      groups.push_back({{part.shares.begin(), part.shares.end()}, group.busiest, group.latency, part.token});
  started_groups_.swap(groups);
}

// Those who had its links to themselves join as well.
void FlowNetwork::join(std::uint32_t flow) {
  for (std::size_t i = 0; i < graph_.flow(flow).crossings.size(); ++i) {
    const LinkId link = graph_.link(graph_.flow(flow).crossings[i].link).id;
    const std::optional<SoloFlow> other = solos_.evict(link);
    if (!other) continue;
    if (solos_.is_foretold(*other)) listener_.on_delayed(other->token);
    const std::uint32_t evicted = create(other->path, other->bytes, other->token);
    share_links(evicted);
    components_.adopt(evicted, other->start);
  }
  share_links(flow);
  components_.join(flow);
}

void FlowNetwork::share_links(std::uint32_t flow) {
  for (const FlowCrossing& crossing : graph_.flow(flow).crossings) solos_.share(graph_.link(crossing.link).id);
}

void FlowNetwork::remove(std::uint32_t flow) {
  for (const FlowCrossing& crossing : graph_.flow(flow).crossings) solos_.unshare(graph_.link(crossing.link).id);
  components_.remove(flow);
}

void FlowNetwork::report_end(const Ended& message) {
  listener_.on_released(message.token);
  if (message.latency == Duration::zero())
    listener_.on_arrived(message.token);
  else
    events_.arrive(message.latency, message.token);
}

}  // namespace orrery
