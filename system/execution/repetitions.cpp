// SPDX-License-Identifier: MIT
#include "system/execution/repetitions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace orrery::system {
namespace {

void require(bool condition) {
  if (!condition) throw NotRepeatable{};
}

// When each node could begin but for its stream, by offset: when those of the stretch that it waits for were done, and
// those that the host synchronised with before it.
std::vector<Time> ready_times(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
                              const std::vector<OperationRecord>& by_offset, Time begin) {
  std::vector<Time> ready(stretch.count, begin);
  Time synchronised = begin;
  for (const OperationRecord& operation : by_offset) {
    if (graph.kind(operation.node) == workload::NodeKind::kCompute) {
      Time& of_node = ready[index_of(operation.node) - index_of(stretch.first)];
      of_node = std::max(of_node, synchronised);
    }
    if (graph.has_host() && graph.host(operation.node).synchronises) synchronised = operation.end;
  }
  for (const OperationRecord& operation : by_offset)
    for (const NodeId after : graph.successors(operation.node))
      if (stretch.holds(after)) {
        Time& of_after = ready[index_of(after) - index_of(stretch.first)];
        of_after = std::max(of_after, operation.end);
      }
  return ready;
}

// Every node starts when it is ready and its stream is through with those of the stretch before it; a call moves at
// once.
void require_tight(const workload::ExecutionGraph& graph, const std::vector<OperationRecord>& operations,
                   const workload::Stretch& stretch, const std::vector<Time>& ready, Time begin) {
  std::map<std::pair<workload::NodeKind, std::uint32_t>, Time> free;  // by kind and communicator
  for (const OperationRecord& operation : operations) {
    const workload::NodeKind kind = graph.kind(operation.node);
    const bool is_call = kind == workload::NodeKind::kCollective;
    require(is_call || kind == workload::NodeKind::kNoOp || kind == workload::NodeKind::kCompute);
    require(graph.stream(operation.node) == 0 && (!is_call || operation.moving == operation.start));
    Time earliest = ready[index_of(operation.node) - index_of(stretch.first)];
    if (kind != workload::NodeKind::kNoOp) {
      Time& stream =
          free.try_emplace({kind, is_call ? graph.communicator_slot(operation.node) : 0}, begin).first->second;
      earliest = std::max(earliest, stream);
      stream = operation.end;
    }
    require(operation.start == earliest);
  }
}

// From `tail` on, the compute stream is never free, and nothing else goes on: who wants it waits for the end.
void require_busy_from(Time tail, const workload::ExecutionGraph& graph,
                       const std::vector<OperationRecord>& operations) {
  Time busy_until = tail;
  for (const OperationRecord& operation : operations) {
    if (operation.end <= tail) continue;
    require(graph.kind(operation.node) == workload::NodeKind::kCompute && operation.start < operation.end);
    require(operation.start <= busy_until);
    busy_until = operation.end;
  }
}

// Fills in what the record needs of the host. Behind the first synchronisation all follows from its end.
void take_host(const workload::ExecutionGraph& graph, const std::vector<OperationRecord>& by_offset, Time begin,
               StretchRecord& record) {
  if (!graph.has_host()) return;
  Duration before{};
  record.host_lead = Duration::min();
  for (const OperationRecord& operation : by_offset) {
    const workload::HostWork host = graph.host(operation.node);
    if (!record.synchronised && host.span > Duration::zero()) {
      record.host_lead = std::max(*record.host_lead, before + host.span - (operation.end - begin));
    }
    before += host.launches;
    if (host.synchronises) record.synchronised = operation.end - begin;
  }
}

// True if a node waited for the host for another reason than a synchronisation within the stretch.
bool waited_from_before(const workload::ExecutionGraph& graph, const std::vector<OperationRecord>& by_offset) {
  for (const OperationRecord& operation : by_offset) {
    if (graph.kind(operation.node) == workload::NodeKind::kCompute && operation.moving > operation.start) return true;
    if (graph.has_host() && graph.host(operation.node).synchronises) return false;
  }
  return false;
}

// No computation runs beside a call, which would slow it.
void require_apart(const workload::ExecutionGraph& graph, const std::vector<OperationRecord>& operations) {
  for (const OperationRecord& call : operations)
    for (const OperationRecord& other : operations)
      require(graph.kind(call.node) != workload::NodeKind::kCollective ||
              graph.kind(other.node) != workload::NodeKind::kCompute || other.end <= call.start ||
              call.end <= other.start);
}

// A stretch as it runs by itself where the host is far ahead of its beginning: every node takes what it took when it
// waited for the host, without that.
class Replay {
 public:
  // `by_offset`: as it ran, from `begin` on.
  Replay(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
         const std::vector<OperationRecord>& by_offset, Time begin)
      : graph_(graph), stretch_(stretch), operations_(by_offset), waits_for_(stretch.count), now_(begin) {}

  std::vector<OperationRecord> run() && {
    take_host();
    for (const OperationRecord& operation : operations_)
      for (const NodeId after : graph_.successors(operation.node))
        if (stretch_.holds(after)) ++waits_for_[offset_of(after)];
    for (std::uint32_t offset = 0; offset < stretch_.count; ++offset)
      if (waits_for_[offset] == 0) ready_[stream_of(offset)].insert(offset);
    start();
    while (!ends_.empty()) {
      now_ = ends_.begin()->first;
      const std::vector<std::uint32_t> done = std::move(ends_.begin()->second);
      ends_.erase(ends_.begin());
      for (const std::uint32_t offset : done) finish(offset);
      start();
    }
    return std::move(operations_);
  }

 private:
  using StreamKey = std::pair<workload::NodeKind, std::uint32_t>;  // and communicator; of a no-op its own

  std::uint32_t offset_of(NodeId node) const { return index_of(node) - index_of(stretch_.first); }
  StreamKey stream_of(std::uint32_t offset) const {
    const NodeId node = operations_[offset].node;
    const workload::NodeKind kind = graph_.kind(node);
    if (kind == workload::NodeKind::kNoOp) return {kind, offset};
    return {kind, kind == workload::NodeKind::kCollective ? graph_.communicator_slot(node) : 0};
  }

  void take_host() {
    Duration before{};
    std::optional<std::uint32_t> synchronisation;
    for (std::uint32_t offset = 0; offset < stretch_.count; ++offset) {
      const workload::HostWork host = graph_.host(operations_[offset].node);
      host_.push_back({before + host.span, synchronisation});
      before += host.launches;
      if (!host.synchronises) continue;
      synchronisation = offset;
      before = Duration::zero();
    }
  }

  void start() {
    for (auto& [stream, ready] : ready_) {
      if (ready.empty() || busy_.contains(stream)) continue;
      const std::uint32_t offset = *ready.begin();
      const Host& host = host_[offset];
      const bool is_computation = stream.first == workload::NodeKind::kCompute;
      if (is_computation && host.synchronisation && !done_.contains(*host.synchronisation)) continue;
      ready.erase(ready.begin());
      busy_.insert(stream);
      OperationRecord& operation = operations_[offset];
      const Duration time = operation.end - operation.moving;
      operation.start = operation.moving = now_;
      if (is_computation && host.synchronisation)
        operation.moving = std::max(now_, operations_[*host.synchronisation].end + host.until_end - time);
      operation.end = operation.moving + time;
      ends_[operation.end].push_back(offset);
    }
  }

  void finish(std::uint32_t offset) {
    busy_.erase(stream_of(offset));
    done_.insert(offset);
    for (const NodeId after : graph_.successors(operations_[offset].node))
      if (stretch_.holds(after) && --waits_for_[offset_of(after)] == 0)
        ready_[stream_of(offset_of(after))].insert(offset_of(after));
  }

  struct Host {
    Duration until_end{};  // from the latest synchronisation of the stretch before a node to its end
    std::optional<std::uint32_t> synchronisation;
  };

  const workload::ExecutionGraph& graph_;
  const workload::Stretch& stretch_;
  std::vector<OperationRecord> operations_;
  std::vector<std::uint32_t> waits_for_;
  Time now_;
  std::vector<Host> host_;
  std::map<StreamKey, std::set<std::uint32_t>> ready_;
  std::set<StreamKey> busy_;
  std::set<std::uint32_t> done_;
  std::map<Time, std::vector<std::uint32_t>> ends_;
};

// Number of uses of each communicator's stream in the record. Nobody uses them now, or wants to.
std::vector<std::uint32_t> streams_used(const RankExecution& execution, const StretchRecord& record) {
  std::vector<std::uint32_t> used;
  for (const NodeId call : record.calls) {
    const auto runs = execution.runs_if_free(call);
    require(runs.has_value());
    used.push_back(*runs);
  }
  return used;
}

}  // namespace

StretchRecord record_of(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
                        std::vector<OperationRecord> operations, bool contends) {
  std::ranges::sort(operations, {}, &OperationRecord::node);
  StretchRecord record;
  std::set<std::uint32_t> communicators;
  for (const NodeId node : graph.collectives())
    if (stretch.holds(node) && communicators.insert(graph.communicator_slot(node)).second) record.calls.push_back(node);
  const Time begin = std::ranges::min_element(operations, {}, &OperationRecord::start)->start;
  if (waited_from_before(graph, operations)) {
    if (contends) require_apart(graph, operations);
    operations = Replay(graph, stretch, operations, begin).run();
    if (contends) require_apart(graph, operations);
  }
  const std::vector<Time> ready = ready_times(graph, stretch, operations, begin);
  take_host(graph, operations, begin, record);
  for (const NodeId node : stretch.tail)
    record.tail = std::max(record.tail, operations[index_of(node) - index_of(stretch.first)].end - begin);
  std::ranges::stable_sort(operations, {}, &OperationRecord::start);
  require_tight(graph, operations, stretch, ready, begin);
  require_busy_from(begin + record.tail, graph, operations);
  std::ranges::stable_sort(operations, {}, &OperationRecord::end);
  for (const OperationRecord& operation : operations) {
    const std::uint32_t offset = index_of(operation.node) - index_of(stretch.first);
    record.parts.push_back(
        {offset, operation.start - begin, operation.moving - begin, operation.end - begin, operation.slowed});
    record.end = std::max(record.end, operation.end - begin);
    if (operation.end - begin <= record.tail) record.until_tail = record.parts.size();
    if (ready[offset] == begin && graph.kind(operation.node) != workload::NodeKind::kCompute)
      record.begins_on_stream = false;
  }
  return record;
}

Repetitions::Run& Repetitions::run(std::uint32_t agent, const workload::ExecutionGraph& graph, std::uint32_t stretch) {
  if (agent >= runs_.size()) runs_.resize(agent + 1);
  if (runs_[agent].empty()) runs_[agent].resize(graph.stretches().size());
  return runs_[agent][stretch];
}

void Repetitions::ran(std::uint32_t agent, const workload::ExecutionGraph& graph, const OperationRecord& operation) {
  const std::span<const workload::Stretch> stretches = graph.stretches();
  for (std::uint32_t stretch = 0; stretch < stretches.size(); ++stretch)
    if (stretches[stretch].holds(operation.node)) run(agent, graph, stretch).operations.push_back(operation);
}

void Repetitions::disturb(std::uint32_t agent, const workload::ExecutionGraph& graph, NodeId node) {
  const std::span<const workload::Stretch> stretches = graph.stretches();
  for (std::uint32_t stretch = 0; stretch < stretches.size(); ++stretch)
    if (stretches[stretch].holds(node)) run(agent, graph, stretch).is_disturbed = true;
}

Duration Repetitions::begin(std::uint32_t agent, const RankExecution& execution, NodeId node) {
  const workload::ExecutionGraph& graph = execution.graph();
  const workload::Repetition repetition = *graph.repetition(node);
  Run& run = this->run(agent, graph, repetition.stretch);
  if (run.record == nullptr) {
    const workload::Stretch& stretch = graph.stretches()[repetition.stretch];
    require(run.operations.size() == stretch.count && !run.is_disturbed);
    run.record =
        std::make_shared<const StretchRecord>(record_of(graph, stretch, std::exchange(run.operations, {}), contends_));
    const RankId rank = cast_.first_rank(agent);
    for (const NodeId call : graph.collectives())
      if (stretch.holds(call))
        require(calls_.may_count({cast_.home_of(job_.communicator(rank, call)), graph.call_index(call)}));
  }
  if (repetition.is_rest) {
    require(!execution.has_waited());
    return run.record->end - run.record->tail;
  }
  require(run.record->begins_on_stream || !execution.has_waited());
  if (run.record->host_lead && *run.record->host_lead > Duration::min())
    require(execution.host_turns_to(node) + *run.record->host_lead <= execution.taken(node));
  require_alone(agent, execution, *run.record);
  run.streams_used = streams_used(execution, *run.record);
  return run.record->tail;
}

Time Repetitions::finish(std::uint32_t agent, const RankExecution& execution, NodeId node) {
  const workload::ExecutionGraph& graph = execution.graph();
  const workload::Repetition repetition = *graph.repetition(node);
  const workload::Stretch& stretch = graph.stretches()[repetition.stretch];
  Run& run = this->run(agent, graph, repetition.stretch);
  RepetitionRecord told{run.record, stretch.first, graph.number(node), execution.taken(node), repetition.is_rest};
  if (repetition.is_rest) {
    told.number -= stretch.count;
    told.begin -= run.record->tail;
  } else {
    require_alone(agent, execution, *run.record);
    require(streams_used(execution, *run.record) == run.streams_used && !execution.is_wanted(node));
    ++run.repetitions;
  }
  observer_.repeated(cast_.first_rank(agent), told);
  return told.begin + run.record->synchronised.value_or(Duration::zero());
}

void Repetitions::require_alone(std::uint32_t agent, const RankExecution& execution,
                                const StretchRecord& record) const {
  const workload::RankBinding& rank = job_.ranks[index_of(cast_.first_rank(agent))];
  for (const NodeId call : record.calls)
    require(cast_.is_alone(cast_.home_of(rank.communicators[execution.graph().communicator_slot(call)])));
}

void Repetitions::settle() {
  for (std::uint32_t agent = 0; agent < runs_.size(); ++agent)
    for (std::uint32_t stretch = 0; stretch < runs_[agent].size(); ++stretch) {
      const std::uint64_t times = std::exchange(runs_[agent][stretch].repetitions, 0);
      if (times == 0) continue;
      const RankId rank = cast_.first_rank(agent);
      const workload::ExecutionGraph& graph = job_.graph(rank);
      for (const NodeId node : graph.collectives())
        if (graph.stretches()[stretch].holds(node))
          require(calls_.count({cast_.home_of(job_.communicator(rank, node)), graph.call_index(node)}, times));
    }
}

void Repetitions::split(std::uint32_t part, std::uint32_t parent) {
  if (parent >= runs_.size()) return;
  if (part >= runs_.size()) runs_.resize(part + 1);
  runs_[part] = runs_[parent];
}

}  // namespace orrery::system
