// SPDX-License-Identifier: MIT
#include "system/execution/stretch_courses.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace orrery::system {
namespace {

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
    require_repeatable(is_call || kind == workload::NodeKind::kNoOp || kind == workload::NodeKind::kCompute);
    require_repeatable(graph.stream(operation.node) == 0 && (!is_call || operation.moving == operation.start));
    Time earliest = ready[index_of(operation.node) - index_of(stretch.first)];
    if (kind != workload::NodeKind::kNoOp) {
      Time& stream =
          free.try_emplace({kind, is_call ? graph.communicator_slot(operation.node) : 0}, begin).first->second;
      earliest = std::max(earliest, stream);
      stream = operation.end;
    }
    require_repeatable(operation.start == earliest);
  }
}

// From `tail` on, the compute stream is never free, and nothing else goes on: who wants it waits for the end.
void require_busy_from(Time tail, const workload::ExecutionGraph& graph,
                       const std::vector<OperationRecord>& operations) {
  Time busy_until = tail;
  for (const OperationRecord& operation : operations) {
    if (operation.end <= tail) continue;
    require_repeatable(graph.kind(operation.node) == workload::NodeKind::kCompute && operation.start < operation.end);
    require_repeatable(operation.start <= busy_until);
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

// The record of `operations`, which ran from `begin` on, by node.
StretchRecord record_from(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
                          std::vector<OperationRecord> operations, Time begin) {
  StretchRecord record;
  std::set<std::uint32_t> communicators;
  for (const OperationRecord& operation : operations)
    if (graph.kind(operation.node) == workload::NodeKind::kCollective &&
        communicators.insert(graph.communicator_slot(operation.node)).second)
      record.calls.push_back(operation.node);
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

}  // namespace

StretchCourses::StretchCourses(const workload::ExecutionGraph& graph, const workload::Stretch& stretch,
                               std::vector<OperationRecord> first_run, std::optional<ContendedDevice> device)
    : graph_(graph), stretch_(stretch), first_run_(std::move(first_run)) {
  std::ranges::sort(first_run_, {}, &OperationRecord::node);
  for (const OperationRecord& operation : first_run_)
    require_repeatable(graph.kind(operation.node) != workload::NodeKind::kCollective ||
                       (operation.moving == operation.start && !graph.host(operation.node).synchronises));
  if (device || waited_from_before(graph, first_run_)) replay_.emplace(graph, stretch, first_run_, std::move(device));
}

const std::shared_ptr<const StretchRecord>& StretchCourses::beside(const std::vector<OutsideUse>& outside) {
  std::shared_ptr<const StretchRecord>& record = records_[outside];
  if (record != nullptr) return record;
  const Time begin = replay_ ? Time{} : std::ranges::min_element(first_run_, {}, &OperationRecord::start)->start;
  record = std::make_shared<const StretchRecord>(
      record_from(graph_, stretch_, replay_ ? replay_->run(outside) : first_run_, begin));
  return record;
}

}  // namespace orrery::system
