// SPDX-License-Identifier: MIT
#include "astra/engine/simulation.h"

#include <deque>
#include <optional>

#include <fmt/format.h>

#include "astra/engine/cast.h"
#include "astra/engine/network_model.h"
#include "astra/engine/stuck.h"

namespace orrery::astra {
namespace {

// Remote memory: each rank's own, or one for all that serves one request after another.
class RemoteMemoryModel : public Memory {
 public:
  RemoteMemoryModel(const RemoteMemory& memory, Timers& timers) : memory_(memory), timers_(&timers) {}

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
    const auto transfer = static_cast<Ticks>(static_cast<double>(request.bytes) / memory_.bandwidth);
    timers_->set(request.rank, memory_.latency + transfer, {TimerKind::kMemoryServed, false, request.node, 0, 0});
  }

  const RemoteMemory& memory_;
  Timers* timers_;
  std::deque<Request> waiting_;
};

class Simulation : public Listener {
 public:
  Simulation(const Inputs& inputs, const Job& job, const Cast& cast)
      : timers_(events_),
        network_(make_network(inputs, events_, [this](std::uint32_t parcel) { messages_->deliver(parcel); })),
        memory_(inputs.memory, timers_),
        messages_(std::in_place, events_, *network_, *this, inputs.flags.rendezvous),
        world_{inputs, job, cast, events_, timers_, *messages_, memory_, custom_} {
    ranks_.reserve(cast.agent_count());
    for (std::uint32_t agent = 0; agent < cast.agent_count(); ++agent) ranks_.emplace_back(world_, agent);
  }

  // False if the result may depend on the order of what is folded.
  bool run() {
    for (Rank& rank : ranks_) rank.start();
    if (!events_.empty() && events_.next_time() == 0) refuse_zero();
    while (!events_.empty()) {
      events_.proceed([this](const Event& event) { handle(event); });
      if (world_.depends_on_order && world_.cast.is_folded()) return false;
    }
    return true;
  }

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
        return ranks_[completion.rank].complete(completion);
    }
  }

 private:
  void handle(const Event& event) {
    ++world_.event;
    switch (event.kind) {
      case EventKind::kTimers:
        return timers_.fire(event, [this](std::uint32_t rank, const Timer& timer) {
          ++world_.event;
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

  // Time must go on between instants.
  [[noreturn]] void refuse_zero() const {
    const System& system = world_.inputs.system;
    if (system.endpoint_delay == 0)
      throw InputError(system.where("endpoint-delay"), "'endpoint-delay' is 0, and a collective begins at time 0",
                       "ASTRA-sim aborts here; give it at least 1 ns");
    throw InputError({system.file}, "something takes no time at all at time 0, of which ASTRA-sim aborts",
                     "a computation of 0 ns by the roofline, or a message of 0 ns");
  }

  EventQueue events_;
  Timers timers_;
  std::unique_ptr<Network> network_;
  RemoteMemoryModel memory_;
  std::optional<Messages> messages_;
  CustomSchedules custom_;
  World world_;
  std::vector<Rank> ranks_;
};

}  // namespace

Result simulate(const Inputs& inputs, const Job& job, Folding folding) {
  if (folding == Folding::kAuto) {
    const Cast folded = Cast::folded(inputs, job);
    if (folded.is_folded()) {
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
