// SPDX-License-Identifier: MIT
#include "astra/engine/rank.h"

#include <algorithm>

#include <fmt/format.h>

#include "astra/engine/bus.h"
#include "core/assert.h"

namespace orrery::astra {
namespace {

constexpr std::uint64_t kCollectiveTags = 500'000'000;  // tags of messages are below
constexpr std::uint64_t kGroupStreams = 1'000'000;      // stream numbers of a group
constexpr Ticks kLocalDelay = 10;                       // the endpoint's in a communicator group
constexpr std::uint32_t kNoQueue = UINT32_MAX;
constexpr std::uint32_t kMostEnds = 63;  // with a bit each; those after them share one
constexpr std::uint64_t kSharedEnd = std::uint64_t{1} << kMostEnds;

// True if all of `first` is over when all of `second` is, in whatever order they end.
bool is_within(std::uint64_t first, std::uint64_t second) { return (first & (~second | kSharedEnd)) == 0; }

}  // namespace

// A chunk of a collective.
class Rank::Stream : public Stage {
 public:
  Stream(Rank& rank, std::uint32_t number) : rank_(&rank), number_(number) {}

  void begin(std::uint32_t node, std::uint32_t tag, std::vector<Phase> phases) {
    node_ = node;
    tag_ = tag;
    phases_ = std::move(phases);
    next_ = 0;
    queue = kNoQueue;
  }

  bool is_over() const { return next_ == phases_.size(); }
  std::uint32_t node() const { return node_; }
  // Leaves the phase that ends; the queue of the next.
  std::uint32_t enter_next() {
    queue = phases_[next_++].queue;
    return queue;
  }
  void drop() { algorithm_.reset(); }
  void init() {
    algorithm_ = make_algorithm(phases_[next_ - 1], *this);
    algorithm_->run(PhaseEvent::kStart, 0);
  }
  void run(PhaseEvent event, std::uint32_t node = 0) { algorithm_->run(event, node); }

  void hold(const Hold& hold) override {
    const Timer timer{TimerKind::kPacket, hold.reduces, number_, 0, hold.bytes};
    if (!hold.is_local && rank_->bus_) return rank_->bus_->carry(timer, hold.to_network, hold.reduces, hold.sends_back);
    set(hold.is_local ? kLocalDelay : rank_->world_->inputs.system.endpoint_delay, timer);
  }
  void send(const Peer& to, std::uint64_t bytes) override {
    rank_->world_->messages.send(parcel(to, tag_, bytes, Completion{}));
  }
  void receive(const Peer& from, std::uint64_t bytes) override {
    rank_->world_->messages.receive(expected(from, tag_, bytes), {CompletionKind::kPacket, rank_->agent_, number_, 0});
  }
  void send_node(const Peer& to, const Node& node, std::uint32_t index) override {
    const Completion sent{CompletionKind::kCustomNode, rank_->agent_, number_, index};
    rank_->world_->messages.send(parcel(to, custom_tag(node), node.bytes, sent));
  }
  void receive_node(const Peer& from, const Node& node, std::uint32_t index) override {
    rank_->world_->messages.receive(expected(from, custom_tag(node), node.bytes),
                                    {CompletionKind::kCustomNode, rank_->agent_, number_, index});
  }
  void compute_node(Ticks duration, std::uint32_t index) override {
    set(duration, {TimerKind::kCustomComputed, false, number_, index, 0});
  }
  void depends_on_order() override { rank_->world_->depends_on_order = true; }
  void finish() override { rank_->next_phase(number_); }
  Ticks now() const override { return rank_->world_->events.now(); }

  std::uint32_t queue = kNoQueue;
  std::uint32_t cohort = 0;  // with which it joined the queue

 private:
  void set(Ticks delay, const Timer& timer) { rank_->world_->timers.set(rank_->agent_, delay, timer); }

  static std::uint32_t custom_tag(const Node& node) { return static_cast<std::uint32_t>(kCollectiveTags) + node.tag; }

  Parcel parcel(const Peer& to, std::uint32_t tag, std::uint64_t bytes, const Completion& sent) const {
    const Address address = rank_->world_->cast.send_address(rank_->agent_, rank_->number_, to);
    return {address, tag, rank_->number_, to.rank, bytes, sent};
  }
  Parcel expected(const Peer& from, std::uint32_t tag, std::uint64_t bytes) const {
    const Address address = rank_->world_->cast.receive_address(rank_->agent_, rank_->number_, from);
    return {address, tag, from.rank, rank_->number_, bytes, {}};
  }

  Rank* rank_;
  std::uint32_t number_;
  std::uint32_t node_ = 0;
  std::uint32_t tag_ = 0;
  std::vector<Phase> phases_;
  std::size_t next_ = 0;
  std::unique_ptr<PhaseAlgorithm> algorithm_;
};

Rank::Rank(World& world, std::uint32_t agent)
    : world_(&world),
      agent_(agent),
      number_(world.cast.rank_of(agent)),
      own_(&world.job.ranks[number_]),
      program_(&world.job.programs[own_->program]),
      planner_(world.inputs, world.job, world.custom, number_),
      running_chunks_(1),
      queues_(planner_.queue_count()),
      group_streams_(own_->groups.size()),
      waits_(program_->parent_count),
      chunks_left_(program_->nodes.size()),
      operation_of_(program_->nodes.size()),
      awaited_(program_->nodes.size()) {
  const std::uint32_t queues = world.inputs.flags.queues_per_dimension;
  running_chunks_ = (world.inputs.system.active_chunks + queues - 1) / queues;
  for (std::uint32_t node = 0; node < waits_.size(); ++node)
    if (waits_[node] == 0) ready_[slot_of(program_->nodes[node])].push(node);
}

void Rank::start() {
  if (world_->inputs.system.bus.on)
    bus_ = std::make_unique<Bus>(world_->inputs.system.bus, world_->timers, world_->events, agent_,
                                 [this](const Timer& packet) { fire(packet); });
  issue_then_check();
}

Rank::~Rank() = default;
Rank::Rank(Rank&&) noexcept = default;

Rank::Slot Rank::slot_of(const Node& node) {
  if (node.on_host) return kHost;
  if (node.kind == NodeKind::kCompute) return kDevice;
  return node.kind == NodeKind::kReceive ? kNoSlot : kCommunication;
}

void Rank::issue_then_check() {
  issuing_ = true;
  while (true) {
    Heap* lowest = nullptr;
    for (std::size_t slot = 0; slot < ready_.size(); ++slot) {
      if (ready_[slot].empty() || (slot < busy_.size() && busy_[slot])) continue;
      if (lowest == nullptr || ready_[slot].top() < lowest->top()) lowest = &ready_[slot];
    }
    if (lowest == nullptr) break;
    const std::uint32_t node = lowest->top();
    lowest->pop();
    issue(node);
  }
  issuing_ = false;
  for (const std::uint32_t node : next_ready_) ready_[slot_of(program_->nodes[node])].push(node);
  next_ready_.clear();
  note_order();
  if (finished_ || ongoing_ > 0 || std::ranges::any_of(ready_, [](const Heap& heap) { return !heap.empty(); })) return;
  finished_ = true;
  finish_time_ = world_->events.now();
}

// Dependencies of a node that ended in this instant.
std::uint64_t Rank::awaited(std::uint32_t node) const {
  return awaited_[node].at == world_->events.now() ? awaited_[node].nodes : 0;
}

void Rank::take(Slot slot, std::uint32_t node) {
  busy_[slot] = true;
  Taken& taken = taken_[slot];
  const bool again = taken.at == world_->events.now();
  const bool follows = again && (awaited(node) & freed_[slot].nodes & ~kSharedEnd) != 0;
  taken = {world_->events.now(), node, again, follows && (!taken.again || taken.is_uncontested)};
}

// Notes if another order of this instant's completions might give a slot to another node. Any order has to be reckoned
// with: a neighbour's message may come before or after an own one. A node can go when the last of those is over for
// which it waits, or that freed the slot. It goes first in every order if these are among those that each node left
// behind waits for, and its id is smaller; so the same nodes go in this instant, and what they cause is the same. A
// slot that is taken again may only have gone to a node that waited for the one before, and leave none behind.
void Rank::note_order() {
  if (done_count_ < 2) return;
  for (std::size_t slot = 0; slot < busy_.size(); ++slot) {
    const Taken& taken = taken_[slot];
    if (taken.at != done_at_) continue;
    if (taken.again && !(taken.is_uncontested && ready_[slot].empty())) world_->depends_on_order = true;
    if (ready_[slot].empty() || world_->depends_on_order) continue;
    const std::uint64_t freed = freed_[slot].at == done_at_ ? freed_[slot].nodes : 0;
    const std::uint64_t needed = awaited(taken.node) | freed;
    const bool is_first =
        taken.node < ready_[slot].top() && std::ranges::all_of(ready_[slot].nodes(), [&](std::uint32_t node) {
          return is_within(needed, awaited(node) | freed);
        });
    if (!is_first) world_->depends_on_order = true;
  }
}

// Receives that differ in nothing but their nodes get their messages in the order in which they are posted.
void Rank::note_receive(std::uint32_t index) {
  const Ticks now = world_->events.now();
  if (posted_at_ != now) posted_.clear();
  posted_at_ = now;
  const Node& node = program_->nodes[index];
  for (const std::uint32_t other : posted_) {
    const Node& earlier = program_->nodes[other];
    const bool is_like = earlier.slot == node.slot && earlier.tag == node.tag && earlier.bytes == node.bytes;
    if (is_like && !(other < index && is_within(awaited(other), awaited(index)))) world_->depends_on_order = true;
  }
  posted_.push_back(index);
}

void Rank::issue(std::uint32_t index) {
  const Node& node = program_->nodes[index];
  const Ticks now = world_->events.now();
  operation_of_[index] = static_cast<std::uint32_t>(operations_.size());
  operations_.push_back({index, now, node.skips ? now : Operation::kRunning});
  if (node.skips) return free_children(index);
  ++ongoing_;
  if (const Slot slot = slot_of(node); slot != kNoSlot) take(slot, index);
  const bool replays = world_->inputs.system.replay_only || node.kind == NodeKind::kCompute ||
                       (node.kind == NodeKind::kCollective && node.comm == CommKind::kBroadcast);
  if (replays) {
    if (node.duration > kEndOfTime - now)
      refuse_too_long({trace_of(world_->inputs.flags.workload, number_)}, "duration_micros",
                      fmt::format("node {} of rank {}", node.id, number_), static_cast<double>(node.duration));
    world_->timers.set(agent_, node.duration, {TimerKind::kComputed, false, index, 0, 0});
    if (node.kind == NodeKind::kCompute && !node.on_host) compute_time_ += node.duration;
  } else if (node.kind == NodeKind::kMemory) {
    world_->memory.access(agent_, index, node.bytes);
  } else if (node.kind == NodeKind::kCollective) {
    issue_collective(index);
  } else {
    issue_message(index);
  }
}

void Rank::issue_message(std::uint32_t index) {
  const Node& node = program_->nodes[index];
  const std::uint32_t peer = own_->peers[node.slot];
  const Completion over{CompletionKind::kNode, agent_, index, 0};
  if (node.kind == NodeKind::kSend) {
    world_->messages.send(
        {world_->cast.send_address(agent_, node.slot, peer), node.tag, number_, peer, node.bytes, over});
  } else {
    note_receive(index);
    world_->messages.receive(
        {world_->cast.receive_address(agent_, node.slot, peer), node.tag, peer, number_, node.bytes, {}}, over);
  }
}

void Rank::issue_collective(std::uint32_t index) {
  const Node& node = program_->nodes[index];
  const std::uint64_t group = own_->groups[node.slot];
  calls_.push_back({group, index});
  std::vector<std::vector<Phase>> chunks = planner_.plan(node, group);
  chunks_left_[index] = static_cast<std::uint32_t>(chunks.size());
  for (std::vector<Phase>& phases : chunks) {
    std::uint32_t place = 0;
    if (free_streams_.empty()) {
      place = static_cast<std::uint32_t>(streams_.size());
      streams_.push_back(std::make_unique<Stream>(*this, place));
    } else {
      place = free_streams_.back();
      free_streams_.pop_back();
    }
    // Ranks that are folded number their groups alike, but know them by different ids.
    const std::uint64_t base = world_->cast.group_number(node.slot, group) * kGroupStreams;
    const std::uint64_t stream = group == 0 ? world_streams_++ : base + group_streams_[node.slot]++;
    streams_[place]->begin(index, static_cast<std::uint32_t>(kCollectiveTags + stream % kCollectiveTags),
                           std::move(phases));
    next_phase(place);
  }
}

void Rank::fire(const Timer& timer) {
  switch (timer.kind) {
    case TimerKind::kPacket: {
      if (!timer.reduces) return streams_[timer.a]->run(PhaseEvent::kHeld);
      // Two reads and a write.
      const double bandwidth = world_->inputs.system.memory_bandwidth;
      const double pass = bandwidth > 0 ? static_cast<double>(timer.bytes) / bandwidth : 0;
      whole_ticks(3 * pass, world_->events.now(), [&] {
        refuse_too_long(world_->inputs.system.where("local-mem-bw"), "local-mem-bw",
                        fmt::format("a reduction of {} bytes", timer.bytes), 3 * pass);
      });
      Timer reduced = timer;
      reduced.reduces = false;
      return world_->timers.set(agent_, 3 * static_cast<Ticks>(pass), reduced);
    }
    case TimerKind::kCustomComputed:
      return streams_[timer.a]->run(PhaseEvent::kNodeDone, timer.b);
    case TimerKind::kBus:
      return bus_->fire(timer);
    case TimerKind::kComputed:
    case TimerKind::kMemoryServed:
      return done(timer.a);
  }
}

void Rank::complete(const Completion& completion) {
  if (completion.kind == CompletionKind::kNode) return done(completion.a);
  if (completion.kind == CompletionKind::kPacket) return streams_[completion.a]->run(PhaseEvent::kReceived);
  streams_[completion.a]->run(PhaseEvent::kNodeDone, completion.b);
}

void Rank::done(std::uint32_t index) {
  const Node& node = program_->nodes[index];
  const Ticks now = world_->events.now();
  operations_[operation_of_[index]].end = now;
  done_count_ = done_at_ == now ? done_count_ + 1 : 1;
  done_at_ = now;
  if (const Slot slot = slot_of(node); slot != kNoSlot) {
    busy_[slot] = false;
    freed_[slot] = {now, std::uint64_t{1} << std::min(done_count_ - 1, kMostEnds)};
  }
  --ongoing_;
  free_children(index);
  issue_then_check();
}

void Rank::free_children(std::uint32_t index) {
  const Ticks now = world_->events.now();
  const std::uint64_t end = std::uint64_t{1} << std::min(done_count_ - 1, kMostEnds);
  for (const std::uint32_t child : program_->children_of(index)) {
    if (awaited_[child].at != now) awaited_[child] = {now, 0};
    awaited_[child].nodes |= end;
    if (--waits_[child] > 0) continue;
    if (issuing_)
      next_ready_.push_back(child);  // the nodes of this look are known already
    else
      ready_[slot_of(program_->nodes[child])].push(child);
  }
}

void Rank::next_phase(std::uint32_t number) {
  Stream& stream = *streams_[number];
  const std::uint32_t before = stream.queue;
  stream.drop();
  if (stream.is_over()) {
    // The next collective begins before the queue moves up.
    if (--chunks_left_[stream.node()] == 0) done(stream.node());
    leave(before, number);
    fill(before);
    free_streams_.push_back(number);
    return;
  }
  if (before != kNoQueue) leave(before, number);
  const std::uint32_t queue = stream.enter_next();
  queues_[queue].streams.push_back(number);
  note_join(queues_[queue], stream);
  if (before != kNoQueue) fill(before);
  fill(queue);
}

void Rank::note_join(Queue& queue, Stream& stream) {
  if (!world_->cast.is_folded()) return;
  if (Order* order = world_->events.order()) return order->sequence(queue.joined);
  const Ticks now = world_->events.now();
  if (queue.joined_at != now) {
    queue.cohort = static_cast<std::uint32_t>(cohorts_.size());
    cohorts_.emplace_back();
  } else if (queue.joined_event != world_->event) {
    cohorts_[queue.cohort].several = true;
  }
  queue.joined_at = now;
  queue.joined_event = world_->event;
  stream.cohort = queue.cohort;
}

void Rank::note_start(const Stream& stream) {
  if (!world_->cast.is_folded() || world_->events.order() != nullptr) return;
  const Ticks now = world_->events.now();
  Cohort& cohort = cohorts_[stream.cohort];
  if (cohort.started_at == UINT64_MAX) cohort.started_at = now;
  if (cohort.several && cohort.started_at != now) world_->depends_on_order = true;
}

// An entry that leaves a queue was running.
void Rank::leave(std::uint32_t number, std::uint32_t stream) {
  Queue& queue = queues_[number];
  const auto found = std::ranges::find(queue.streams, stream);
  ORRERY_ASSERT(found != queue.streams.end());
  queue.streams.erase(found);
  --queue.running;
}

void Rank::fill(std::uint32_t number) {
  Queue& queue = queues_[number];
  while (queue.running < running_chunks_ && queue.running < queue.streams.size()) {
    const std::uint32_t next = queue.streams[queue.running];
    ++queue.running;
    note_start(*streams_[next]);
    streams_[next]->init();
  }
}

std::vector<std::uint32_t> Rank::running() const {
  std::vector<std::pair<Ticks, std::uint32_t>> begun;
  for (const Operation& operation : operations_)
    if (operation.end == Operation::kRunning) begun.emplace_back(operation.start, operation.node);
  std::ranges::sort(begun);  // not as they were issued within an instant, which may differ from rank to rank
  std::vector<std::uint32_t> nodes;
  for (const auto& [start, node] : begun) nodes.push_back(node);
  return nodes;
}

std::vector<std::uint32_t> Rank::passed_over() const {
  std::vector<std::uint32_t> nodes;
  for (Heap heap : ready_)
    for (; !heap.empty(); heap.pop()) nodes.push_back(heap.top());
  std::ranges::sort(nodes);
  return nodes;
}

}  // namespace orrery::astra
