// SPDX-License-Identifier: MIT
#include "astra/engine/simulation.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "astra/engine/cast.h"
#include "astra/engine/network_model.h"
#include "astra/engine/stuck.h"

namespace orrery::astra {
namespace {

// Remote memory: each rank's own, or one for all that serves one request after another.
class RemoteMemoryModel : public Memory {
 public:
  RemoteMemoryModel(const RemoteMemory& memory, EventQueue& events, Timers& timers)
      : memory_(memory), events_(&events), timers_(&timers) {}

  void access(std::uint32_t rank, std::uint32_t node, std::uint64_t bytes) override {
    if (memory_.kind != MemoryKind::kPool) return serve({rank, node, bytes});
    waiting_.push_back({rank, node, bytes});
    if (waiting_.size() == 1) serve(waiting_.front());
  }
  // A request has been served.
  void next() {
    if (memory_.kind != MemoryKind::kPool) return;
    waiting_.pop_front();
    if (!waiting_.empty()) serve(waiting_.front());
  }

 private:
  struct Request {
    std::uint32_t rank = 0;
    std::uint32_t node = 0;
    std::uint64_t bytes = 0;
  };
  void serve(const Request& request) {
    const double duration = static_cast<double>(request.bytes) / memory_.bandwidth;
    const Ticks transfer = whole_ticks(duration, events_->now(), [&] {
      refuse_too_long(memory_.where_bandwidth, "remote-mem-bw", fmt::format("an access to {} bytes", request.bytes),
                      duration);
    });
    timers_->set(request.rank, memory_.latency + transfer, {TimerKind::kMemoryServed, false, request.node, 0, 0});
  }

  const RemoteMemory& memory_;
  EventQueue* events_;
  Timers* timers_;
  std::deque<Request> waiting_;
};

class Simulation : public Listener {
 public:
  Simulation(const Inputs& inputs, const Job& job, const Cast& cast)
      : order_(order_of(cast)),
        events_(order()),
        timers_(events_),
        network_(make_network(inputs, cast.translation(), events_,
                              [this](std::uint32_t parcel) { messages_->deliver(parcel); })),
        memory_(inputs.memory, events_, timers_),
        messages_(std::in_place, events_, *network_, *this, inputs.flags.rendezvous),
        world_{inputs, job, cast, events_, timers_, *messages_, memory_, custom_} {
    ranks_.reserve(cast.agent_count());
    for (std::uint32_t agent = 0; agent < cast.agent_count(); ++agent) ranks_.emplace_back(world_, agent);
    if (order_) owners_.resize(cast.agent_count());
  }

  // False if the result may depend on the order of what is folded.
  bool run() {
    for (std::uint32_t agent = 0; agent < ranks_.size(); ++agent) {
      acts(agent);
      ranks_[agent].start();
    }
    if (!events_.empty() && events_.next_time() == 0) refuse_zero();
    while (!events_.empty()) {
      events_.proceed([this](const Event& event) { handle(event); });
      if (world_.depends_on_order && world_.cast.is_folded()) return false;
      if (order_ && !order_->is_sound()) return false;
    }
    return true;
  }

  // True if nothing has to be said of ranks by themselves.
  bool is_plain() const { return std::ranges::all_of(ranks_, &Rank::finished) && messages_->unclaimed().empty(); }

  Result result() const {
    if (std::optional<StuckError> stuck = stuck_error(world_.inputs, world_.job, world_.cast, ranks_)) throw *stuck;
    Result result{.events = events_.count(), .messages = messages_->count()};
    for (std::uint32_t rank = 0; rank < world_.job.ranks.size(); ++rank) {
      const std::uint32_t agent = world_.cast.agent_of(rank);
      result.ranks.push_back({ranks_[agent].finish_time(), ranks_[agent].compute_time(), agent});
    }
    for (const Rank& rank : ranks_) {
      result.agents.push_back(rank.number());
      result.operations.push_back(rank.operations());
    }
    for (const Messages::Unclaimed& message : messages_->unclaimed())
      result.warnings.push_back(
          {Severity::kWarning,
           {trace_of(world_.inputs.flags.workload, message.from)},
           fmt::format("a message of {} bytes with tag {} from rank {} to rank {} has no receiver", message.bytes,
                       message.tag, message.from, message.to),
           "ASTRA-sim takes the send for done when the message arrives",
           message.from});
    return result;
  }

  void complete(const Completion& completion) override {
    ++world_.event;  // a folded rank sends and receives at once what are events of two ranks
    switch (completion.kind) {
      case CompletionKind::kNothing:
        return;
      case CompletionKind::kRendezvousSend:
      case CompletionKind::kRendezvousReceive:
        return messages_->complete(completion);
      default:
        acts(completion.rank);
        return ranks_[completion.rank].complete(completion);
    }
  }

 private:
  static std::optional<Order> order_of(const Cast& cast) {
    return cast.translation() != nullptr ? std::optional<Order>(*cast.translation()) : std::nullopt;
  }
  Order* order() { return order_ ? &*order_ : nullptr; }

  void acts(std::uint32_t agent) {
    if (order_) order_->touch(owners_[agent]);
  }

  void handle(const Event& event) {
    ++world_.event;
    switch (event.kind) {
      case EventKind::kTimers:
        return timers_.fire(event, [this](std::uint32_t rank, const Timer& timer) {
          ++world_.event;
          acts(rank);
          if (timer.kind == TimerKind::kMemoryServed) memory_.next();
          ranks_[rank].fire(timer);
        });
      case EventKind::kDelivery:
        return messages_->deliver(event.a);
      case EventKind::kReceived:
        return messages_->received(event.a);
      case EventKind::kHop:
      case EventKind::kLinkFree:
        return network_->handle(event);
    }
  }

  // Time must go on between instants; says what takes none at time 0.
  [[noreturn]] void refuse_zero() const {
    const Event event = events_.next();
    if (event.kind == EventKind::kTimers) refuse_zero_timer(ranks_[event.a], timers_.first(event));
    const bool is_busy_time = event.kind == EventKind::kLinkFree;
    const Parcel& parcel = messages_->parcel(is_busy_time ? event.b : event.a);
    const double bandwidth = world_.inputs.network.dimensions.front().bandwidth;
    std::string what = fmt::format("a message of {} bytes to rank {}", parcel.bytes, parcel.destination);
    what += is_busy_time ? " keeps its link busy for less than 1 ns" : " takes less than 1 ns";
    const bool is_node = parcel.sent.kind == CompletionKind::kNode;
    refuse_zero(ranks_[world_.cast.agent_of(parcel.source)], is_node ? &parcel.sent.a : nullptr, what,
                is_busy_time ? fmt::format("a link sends {:.1f} bytes a nanosecond; send more at once", bandwidth)
                             : "give the network a latency of at least 1 ns");
  }

  [[noreturn]] void refuse_zero_timer(const Rank& rank, const Timer& timer) const {
    const System& system = world_.inputs.system;
    switch (timer.kind) {
      case TimerKind::kPacket:
        throw InputError(system.where("endpoint-delay"), "'endpoint-delay' is 0, and a collective begins at time 0",
                         "ASTRA-sim aborts here; give it at least 1 ns");
      case TimerKind::kBus:
        throw InputError(system.where("model-shared-bus"),
                         "a packet crosses the shared bus in less than 1 ns at time 0, of which ASTRA-sim aborts",
                         "give 'o' at least 1 ns");
      case TimerKind::kMemoryServed:
        refuse_zero(rank, &timer.a, "the memory access takes less than 1 ns", "give remote-mem-latency at least 1 ns");
      default:
        refuse_zero(rank, &timer.a, "the computation takes less than 1 ns by the roofline", "give it more operations");
    }
  }

  // `node` is null for what is no node's.
  [[noreturn]] void refuse_zero(const Rank& rank, const std::uint32_t* node, const std::string& what,
                                std::string hint) const {
    Problem problem{Severity::kError,
                    {trace_of(world_.inputs.flags.workload, rank.number())},
                    what + " at time 0, of which ASTRA-sim aborts",
                    std::move(hint),
                    rank.number()};
    if (node != nullptr) {
      problem.node = fmt::format("node {}", rank.program().nodes[*node].id);
      problem.message = fmt::format("{} of rank {}: {}", problem.node, rank.number(), problem.message);
    }
    throw InputError({std::move(problem)});
  }

  std::optional<Order> order_;        // where ranks are folded that share links
  std::vector<Order::Owner> owners_;  // by agent
  EventQueue events_;
  Timers timers_;
  std::unique_ptr<Network> network_;
  RemoteMemoryModel memory_;
  std::optional<Messages> messages_;
  CustomSchedules custom_;
  World world_;
  std::vector<Rank> ranks_;
};

// Nothing where the order of what is folded might matter, or there is something to say that names ranks.
std::optional<Result> simulate_translated(const Inputs& inputs, const Job& job, const Cast& cast) {
  try {
    Simulation simulation(inputs, job, cast);
    if (simulation.run() && simulation.is_plain()) return simulation.result();
  } catch (const InputError&) {  // again where every rank is simulated
  } catch (const StuckError&) {
  }
  return std::nullopt;
}

}  // namespace

Result simulate(const Inputs& inputs, const Job& job, Folding folding) {
  if (folding == Folding::kAuto) {
    const Cast folded = Cast::folded(inputs, job);
    if (folded.translation() != nullptr) {
      if (std::optional<Result> result = simulate_translated(inputs, job, folded)) return *std::move(result);
    } else if (folded.is_folded()) {
      Simulation simulation(inputs, job, folded);
      if (simulation.run()) return simulation.result();
    }
  }
  const Cast cast = Cast::every_rank(job);
  Simulation simulation(inputs, job, cast);
  simulation.run();
  return simulation.result();
}

}  // namespace orrery::astra
