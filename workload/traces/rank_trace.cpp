// SPDX-License-Identifier: MIT
#include "workload/traces/rank_trace.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/chakra/attributes.h"
#include "workload/chakra/reader.h"
#include "workload/graph/builder.h"
#include "workload/traces/dependency_check.h"
#include "workload/traces/node.h"

namespace orrery::workload {
namespace {

// Facts of a node, kept while its file is read. There is one for a few bytes of the file, so that it holds no more than
// most nodes say.
struct DecodedNode {
  static constexpr std::uint32_t kNoMore = UINT32_MAX;

  std::uint64_t id = 0;
  std::uint64_t frame = 0;
  // Places in DecodedTrace.
  std::uint64_t name = 0, first_dependency = 0;
  std::uint32_t name_size = 0, ctrl = 0, data = 0;
  std::uint32_t more = kNoMore;  // place of all that a node of communication or of process groups says
  NodeKind kind = NodeKind::kNoOp;
  std::uint32_t priority = 0;
  Duration duration{};  // zero: none
  Flops flops{};
  Bytes bytes{};
  std::optional<std::int64_t> stream{};
  std::optional<std::int64_t> began{};
};

// Nodes with their names and dependencies, each kind one after the other.
struct DecodedTrace {
  std::vector<DecodedNode> nodes;
  std::string names;
  std::vector<std::uint64_t> dependencies;  // of a node those of control, then those of data
  std::deque<TraceNode> more;

  void add(DecodedNode node, TraceNode said) {
    node.kind = said.work.kind;
    node.priority = said.work.priority;
    node.duration = said.work.duration.value_or(Duration::zero());
    node.flops = said.work.flops;
    node.bytes = said.work.bytes;
    node.stream = said.stream;
    node.began = said.began;
    if (said.work.kind == NodeKind::kCollective || is_transfer(said.work.kind) || !said.process_groups.empty()) {
      node.more = static_cast<std::uint32_t>(more.size());
      more.push_back(std::move(said));
    }
    nodes.push_back(node);
  }
  // Without its slot and its stream.
  GraphNode work(const DecodedNode& node) const {
    GraphNode result;
    result.kind = node.kind;
    if (node.duration > Duration::zero()) result.duration = node.duration;
    result.flops = node.flops;
    result.bytes = node.bytes;
    result.priority = node.priority;
    if (node.kind == NodeKind::kCollective) result.collective = more[node.more].work.collective;
    return result;
  }
  std::string_view name(const DecodedNode& node) const {
    return std::string_view(names).substr(node.name, node.name_size);
  }
  std::span<const std::uint64_t> ctrl(const DecodedNode& node) const {
    return std::span(dependencies).subspan(node.first_dependency, node.ctrl);
  }
  std::span<const std::uint64_t> data(const DecodedNode& node) const {
    return std::span(dependencies).subspan(node.first_dependency + node.ctrl, node.data);
  }
};

class Collector final : public NodeViewVisitor {
 public:
  explicit Collector(Findings& findings) : findings_(findings) {}

  void metadata(const chakra::GlobalMetadata& metadata) override {
    for (const chakra::AttributeProto& attribute : metadata.attr())
      if (attribute.name() == kWorldSize)
        if (const auto size = integer_of(attribute); size && *size > 0) world_ = static_cast<std::uint64_t>(*size);
  }

  void view(const NodeView& node, ChakraPosition position) override {
    DecodedNode decoded{node.id, position.frame, trace_.names.size(), trace_.dependencies.size()};
    decoded.name_size = static_cast<std::uint32_t>(node.name.size());
    decoded.ctrl = static_cast<std::uint32_t>(node.ctrl_deps.size());
    decoded.data = static_cast<std::uint32_t>(node.data_deps.size());
    trace_.add(decoded, read_trace_node(node, findings_));
    trace_.names += node.name;
    for (const auto* list : {&node.ctrl_deps, &node.data_deps})
      trace_.dependencies.insert(trace_.dependencies.end(), list->begin(), list->end());
  }

  DecodedTrace take() { return std::move(trace_); }
  std::optional<std::uint64_t> world() const { return world_; }

 private:
  Findings& findings_;
  DecodedTrace trace_;
  std::optional<std::uint64_t> world_;
};

// Sorts by id and leaves the first of each id.
void sort_by_id(DecodedTrace& trace, Findings& findings) {
  std::vector<DecodedNode>& nodes = trace.nodes;
  const auto less = [](const DecodedNode& a, const DecodedNode& b) { return a.id < b.id; };
  if (!std::ranges::is_sorted(nodes, less)) std::ranges::stable_sort(nodes, less);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (kept > 0 && nodes[kept - 1].id == nodes[i].id) {
      findings.error("two nodes with the same id",
                     fmt::format("{} (message {}) and \"{}\" (message {})",
                                 describe_node(nodes[i].id, trace.name(nodes[kept - 1])), nodes[kept - 1].frame,
                                 printable(trace.name(nodes[i]), 60), nodes[i].frame));
      continue;
    }
    nodes[kept++] = nodes[i];
  }
  nodes.resize(kept);
}

// Numbers distinct values 0, 1, ... in the order in which they come.
template <class Value>
class SlotNumbering {
 public:
  std::uint32_t slot_of(const Value& value) {
    const auto [entry, is_new] = slots_.try_emplace(value, static_cast<std::uint32_t>(values_.size()));
    if (is_new) values_.push_back(value);
    return entry->second;
  }
  std::vector<Value> take() { return std::move(values_); }

 private:
  std::map<Value, std::uint32_t> slots_;
  std::vector<Value> values_;
};

// The trace's stream numbers become 1, 2, ... in ascending order; a node that has none is on stream 0.
std::map<std::int64_t, std::uint32_t> number_streams(const std::vector<DecodedNode>& nodes) {
  std::map<std::int64_t, std::uint32_t> streams;
  for (const DecodedNode& decoded : nodes)
    if (is_on_device(decoded.kind) && decoded.stream) streams[*decoded.stream] = 0;
  std::uint32_t next = 1;
  for (auto& [stream, number] : streams) number = next++;
  return streams;
}

void add_nodes(const DecodedTrace& decoded, GraphBuilder& builder, RankTrace& trace) {
  const std::map<std::int64_t, std::uint32_t> streams = number_streams(decoded.nodes);
  // Over other dimensions the same ranks are other groups.
  SlotNumbering<std::pair<std::string, std::optional<std::vector<bool>>>> communicators;
  SlotNumbering<std::int64_t> peers;
  for (const DecodedNode& node : decoded.nodes) {
    GraphNode work = decoded.work(node);
    if (is_on_device(work.kind) && node.stream) work.stream = streams.at(*node.stream);
    if (work.kind == NodeKind::kCollective) {
      const TraceNode& said = decoded.more[node.more];
      work.slot = communicators.slot_of({said.communicator, said.involved});
      trace.descriptions.resize(std::max<std::size_t>(trace.descriptions.size(), work.slot + 1));
      if (!said.description.empty()) trace.descriptions[work.slot] = said.description;
      trace.roots.push_back(said.root);
    } else if (is_transfer(work.kind)) {
      const TraceNode& said = decoded.more[node.more];
      work.slot = peers.slot_of(said.peer);
      trace.tags.push_back(said.tag);
      trace.own_ranks.push_back(said.own_rank.value_or(-1));
    }
    builder.add(work);
  }
  for (auto& [name, involved] : communicators.take()) {
    trace.communicators.push_back(std::move(name));
    trace.involved.push_back(std::move(involved));
  }
  trace.peers = peers.take();
}

// Gives every node of the host the time until the next one began.
void take_timestamps(std::vector<DecodedNode>& nodes, Findings& findings) {
  constexpr std::int64_t kMostMicroseconds = Duration::max().count() / 1'000'000;
  std::vector<DecodedNode*> host;
  for (DecodedNode& decoded : nodes)
    if (decoded.began && *decoded.began >= 0) host.push_back(&decoded);
  if (host.empty()) return findings.error("no node of the host has a 'ts'", {}, "workload.chakra.host: durations");
  std::ranges::stable_sort(host, {}, [](const DecodedNode* node) { return *node->began; });
  for (std::size_t i = 0; i + 1 < host.size(); ++i) {
    const std::int64_t gap = *host[i + 1]->began - *host[i]->began;
    if (gap > kMostMicroseconds)
      return findings.error("nodes of the host are more than the 106 days apart that can be simulated", {});
    host[i]->duration = Duration(gap * 1'000'000);
    host[i]->kind = gap > 0 ? NodeKind::kHostCompute : NodeKind::kNoOp;
  }
}

NodeLabels labels_of(const DecodedTrace& trace) {
  std::vector<NodeLabel> labels;
  labels.reserve(trace.nodes.size());
  for (const DecodedNode& decoded : trace.nodes) labels.push_back({decoded.id, trace.name(decoded)});
  return NodeLabels(labels);
}

std::vector<TraceDependency> dependencies_of(const DecodedTrace& trace) {
  std::vector<TraceDependency> result;
  result.reserve(trace.dependencies.size());
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
    for (const std::uint64_t before : trace.ctrl(trace.nodes[i])) result.push_back({NodeId(i), before, true});
    for (const std::uint64_t before : trace.data(trace.nodes[i])) result.push_back({NodeId(i), before, false});
  }
  return result;
}

void build_graph(DecodedTrace decoded, Dependencies chosen, TraceReader reader, HostTimes host, RankTrace& trace) {
  sort_by_id(decoded, trace.findings);
  std::vector<DecodedNode>& nodes = decoded.nodes;
  if (host == HostTimes::kTimestamps) take_timestamps(nodes, trace.findings);
  trace.labels = labels_of(decoded);
  std::string().swap(decoded.names);  // which keeps its memory where it is assigned {}
  const DependencyCheck dependencies(trace.labels, dependencies_of(decoded));
  dependencies.report(chosen, reader, trace.findings);
  dependencies.report_none_chosen(chosen, reader, trace.findings);
  if (reader == TraceReader::kLint) dependencies.report_ignored(chosen, trace.findings);
  for (const DecodedNode& node : nodes)
    if (node.more != DecodedNode::kNoMore)
      std::ranges::copy(decoded.more[node.more].process_groups, std::back_inserter(trace.process_groups));
  if (trace.findings.has_errors()) return;

  const std::vector<Edge> edges = dependencies.edges(chosen);
  GraphBuilder builder;
  builder.reserve(nodes.size(), edges.size());
  add_nodes(decoded, builder, trace);
  for (const Edge& edge : edges) builder.depend(edge.after, edge.before);
  trace.graph = std::move(builder).build();
  trace.drop_defaults();
}

}  // namespace

void RankTrace::drop_defaults() {
  const auto drop = [](std::vector<std::int64_t>& values, std::int64_t none) {
    if (std::ranges::all_of(values, [&](std::int64_t value) { return value == none; }))
      std::vector<std::int64_t>().swap(values);
  };
  drop(tags, 0);
  drop(own_ranks, -1);
  drop(roots, -1);
}

RankTrace read_rank_trace(const std::string& file, std::string_view bytes, Dependencies dependencies,
                          TraceReader reader, HostTimes host) {
  RankTrace trace(file);
  Collector collector(trace.findings);
  try {
    read_chakra(file, bytes, collector);
  } catch (const InputError& error) {
    trace.findings.take(error);
    return trace;
  }
  trace.world = collector.world();
  build_graph(collector.take(), dependencies, reader, host, trace);
  return trace;
}

}  // namespace orrery::workload
