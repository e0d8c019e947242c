#include "network/flow_network.h"

#include "core/assert.h"

namespace orrery {

FlowNetwork::FlowNetwork(Engine& engine, const Fabric& fabric, MessageListener& listener, Resolve resolve)
    : engine_(engine),
      listener_(listener),
      released_(listener),
      arrived_(listener),
      both_(listener),
      paths_(fabric),
      graph_(fabric),
      components_(engine, *this, graph_, resolve) {}

void FlowNetwork::start(PathId path, Bytes bytes, std::uint64_t token) {
  ORRERY_ASSERT(bytes >= Bytes(0));
  const Path& cost = paths_[path];
  if (cost.from == cost.to || bytes == Bytes(0)) return start_without_transfer(cost.latency, token);
  const std::uint32_t flow = graph_.create(bytes, cost.latency, token);
  for (const LinkId link : paths_.links(path)) graph_.cross(flow, {link}, bytes);
  started_.push_back(flow);
}

void FlowNetwork::start_group(std::span<const LinkShare> shares, Bytes busiest, Duration latency, std::uint64_t token) {
  ORRERY_ASSERT(busiest >= Bytes(0));
  if (shares.empty() || busiest == Bytes(0)) return start_without_transfer(latency, token);
  const std::uint32_t flow = graph_.create(busiest, latency, token);
  for (const LinkShare& share : shares) graph_.cross(flow, share, busiest);
  started_.push_back(flow);
}

void FlowNetwork::settle() {
  for (const std::uint32_t flow : started_) components_.join(flow);
  started_.clear();
  components_.settle();
}

void FlowNetwork::on_event(std::uint64_t component) {
  ending_.clear();
  ended_.clear();
  components_.collect_ended(static_cast<std::uint32_t>(component), ending_);
  for (const std::uint32_t flow : ending_) {
    ended_.push_back({graph_.flow(flow).token, graph_.flow(flow).latency});
    components_.remove(flow);
  }
  for (const Ended& message : ended_) {
    listener_.on_released(message.token);
    if (message.latency == Duration::zero())
      listener_.on_arrived(message.token);
    else
      engine_.after(message.latency, arrived_, message.token);
  }
}

void FlowNetwork::start_without_transfer(Duration latency, std::uint64_t token) {
  if (latency == Duration::zero()) {
    engine_.after(Duration::zero(), both_, token);
  } else {
    engine_.after(Duration::zero(), released_, token);
    engine_.after(latency, arrived_, token);
  }
}

}  // namespace orrery
