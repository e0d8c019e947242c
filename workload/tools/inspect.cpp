// SPDX-License-Identifier: MIT
#include "workload/tools/inspect.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"
#include "core/files/read_file.h"
#include "workload/graph/findings.h"
#include "workload/graph/rank_list.h"
#include "workload/traces/rank_trace.h"

namespace orrery::workload {
namespace {

void summarise_nodes(const ExecutionGraph& graph, GraphSummary& summary) {
  std::map<std::pair<std::uint32_t, CollectiveKind>, CallSummary> calls;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const NodeId node{i};
    const NodeKind kind = graph.kind(node);
    const Total bytes = graph.bytes(node).count();
    KindSummary& of_kind = summary.kinds[static_cast<std::size_t>(kind)];
    ++of_kind.nodes;
    if (const auto duration = graph.duration(node)) {
      ++of_kind.measured;
      of_kind.picoseconds += duration->count();
    }
    summary.flops += graph.flops(node).count();
    if (!is_communication(kind)) summary.tensor_bytes += bytes;
    if (kind == NodeKind::kSend) summary.bytes_sent += bytes;
    if (kind == NodeKind::kReceive) summary.bytes_received += bytes;
    if (kind != NodeKind::kCollective) continue;
    CallSummary& call = calls[{graph.communicator_slot(node), graph.collective_kind(node)}];
    ++call.calls;
    call.bytes += bytes;
  }
  for (const auto& [key, call] : calls) {
    summary.calls.push_back(call);
    summary.calls.back().slot = key.first;
    summary.calls.back().kind = key.second;
  }
  summary.sends = summary.kinds[static_cast<std::size_t>(NodeKind::kSend)].nodes;
  summary.receives = summary.kinds[static_cast<std::size_t>(NodeKind::kReceive)].nodes;
}

void summarise_edges(const ExecutionGraph& graph, GraphSummary& summary) {
  std::vector<std::size_t> hops(graph.size(), 1);
  std::vector<Total> time(graph.size(), 0);
  for (const NodeId node : graph.order()) {
    const std::uint32_t i = index_of(node);
    if (const auto duration = graph.duration(node); duration && !is_communication(graph.kind(node)))
      time[i] += duration->count();
    const std::span<const NodeId> successors = graph.successors(node);
    for (const NodeId after : successors) {
      hops[index_of(after)] = std::max(hops[index_of(after)], hops[i] + 1);
      time[index_of(after)] = std::max(time[index_of(after)], time[i]);
    }
    summary.longest_chain = std::max(summary.longest_chain, hops[i]);
    summary.longest_chain_picoseconds = std::max(summary.longest_chain_picoseconds, time[i]);
    summary.most_successors = std::max(summary.most_successors, successors.size());
    summary.most_predecessors = std::max<std::size_t>(summary.most_predecessors, graph.predecessor_count(node));
    if (successors.empty()) ++summary.leaves;
    if (graph.predecessor_count(node) == 0) ++summary.roots;
  }
}

// The calls of all ranks on their communicators: (communicator, kind) of the busiest member.
std::vector<CommunicatorUse> communicator_uses(const Job& job, const std::vector<GraphUse>& graphs) {
  std::map<std::pair<std::uint32_t, CollectiveKind>, CommunicatorUse> uses;
  for (const RankBinding& binding : job.ranks) {
    for (const CallSummary& call : graphs[binding.graph].summary.calls) {
      const std::uint32_t group = index_of(binding.communicators[call.slot]);
      const Communicator& communicator = job.communicators[group];
      CommunicatorUse& use = uses[{group, call.kind}];
      use.name = communicator.name;
      use.members = communicator.members.size();
      use.is_defined = communicator.is_defined;
      use.kind = call.kind;
      use.calls = std::max(use.calls, call.calls);
      use.bytes = std::max(use.bytes, call.bytes);
    }
  }
  std::vector<CommunicatorUse> result;
  for (auto& [key, use] : uses) result.push_back(std::move(use));
  return result;
}

using OrderedJson = nlohmann::ordered_json;

double seconds_of(Total picoseconds) { return static_cast<double>(picoseconds) * 1e-12; }

// JSON integers beyond 64 bits are not portable: such sums are given as floating point.
OrderedJson number(Total value) {
  if (value <= Total{INT64_MAX}) return static_cast<std::int64_t>(value);
  return static_cast<double>(value);
}

// "1.23 GB"; exact below a thousand.
std::string scaled(Total value, std::string_view unit) {
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E", "Z"};
  if (value < 1000) return fmt::format("{} {}", static_cast<int>(value), unit);
  double number = static_cast<double>(value);
  std::size_t prefix = 0;
  for (; number >= 999.5 && prefix + 1 < std::size(kPrefixes); ++prefix) number /= 1000;
  return fmt::format("{:.3g} {}{}", number, kPrefixes[prefix], unit);
}

std::string milliseconds(Total picoseconds) { return fmt::format("{:.6g} ms", seconds_of(picoseconds) * 1e3); }

std::string text_of(const GraphSummary& s) {
  std::string text;
  for (std::size_t kind = 0; kind < kNodeKindCount; ++kind) {
    const KindSummary& k = s.kinds[kind];
    if (k.nodes == 0) continue;
    text += fmt::format("    {:<13} {:>8}", name_of(static_cast<NodeKind>(kind)), k.nodes);
    if (k.measured > 0)
      text += fmt::format("   measured {} ({})", milliseconds(k.picoseconds), counted(k.measured, "node"));
    text += '\n';
  }
  if (s.flops > 0) text += fmt::format("    FLOPs         {}\n", scaled(s.flops, "FLOP"));
  if (s.tensor_bytes > 0) text += fmt::format("    tensors       {}\n", scaled(s.tensor_bytes, "B"));
  if (s.sends + s.receives > 0)
    text += fmt::format("    transfers     {} sent in {}, {} received in {}\n", scaled(s.bytes_sent, "B"), s.sends,
                        scaled(s.bytes_received, "B"), s.receives);
  text += fmt::format("    dependencies  {}; {} first and {} last nodes; at most {} in, {} out of a node\n", s.edges,
                      s.roots, s.leaves, s.most_predecessors, s.most_successors);
  text += fmt::format("    longest chain {} nodes; by measured compute {}\n", s.longest_chain,
                      milliseconds(s.longest_chain_picoseconds));
  text += fmt::format("    streams       {}\n", s.streams);
  text += fmt::format("    memory        {:.1f} bytes a node\n",
                      static_cast<double>(s.memory_bytes) / static_cast<double>(s.nodes));
  return text;
}

OrderedJson json_of(const GraphSummary& s) {
  OrderedJson kinds = OrderedJson::object();
  for (std::size_t kind = 0; kind < kNodeKindCount; ++kind) {
    const KindSummary& k = s.kinds[kind];
    std::string name(name_of(static_cast<NodeKind>(kind)));
    std::ranges::replace(name, ' ', '_');
    kinds[name] = {{"nodes", k.nodes}, {"measured", k.measured}, {"duration_s", seconds_of(k.picoseconds)}};
  }
  return {{"nodes", s.nodes},
          {"kinds", kinds},
          {"flops", number(s.flops)},
          {"tensor_bytes", number(s.tensor_bytes)},
          {"sends", s.sends},
          {"receives", s.receives},
          {"bytes_sent", number(s.bytes_sent)},
          {"bytes_received", number(s.bytes_received)},
          {"dependencies",
           {{"edges", s.edges},
            {"roots", s.roots},
            {"leaves", s.leaves},
            {"most_predecessors", s.most_predecessors},
            {"most_successors", s.most_successors},
            {"longest_chain_nodes", s.longest_chain},
            {"longest_chain_compute_s", seconds_of(s.longest_chain_picoseconds)}}},
          {"streams", s.streams},
          {"memory_bytes", s.memory_bytes}};
}

// Communicators with the same traffic in one line each: the tensor groups of all replicas.
std::string text_of(const std::vector<CommunicatorUse>& uses, bool is_job) {
  struct Alike {
    CommunicatorUse use;
    std::vector<std::string> names;
  };
  std::vector<Alike> groups;
  std::map<std::tuple<std::size_t, bool, CollectiveKind, std::size_t, Total>, std::size_t> index;
  for (const CommunicatorUse& use : uses) {
    const auto [entry, is_new] =
        index.try_emplace({use.members, use.is_defined, use.kind, use.calls, use.bytes}, groups.size());
    if (is_new) groups.push_back({use, {}});
    groups[entry->second].names.push_back(use.name);
  }
  std::string text;
  for (const Alike& alike : groups) {
    constexpr std::size_t kNamesShown = 4;
    std::string names;
    for (std::size_t i = 0; i < alike.names.size() && i < kNamesShown; ++i)
      names += (i == 0 ? "" : ", ") + printable(alike.names[i], 40);
    if (alike.names.size() > kNamesShown) names += fmt::format(" and {} more", alike.names.size() - kNamesShown);
    const std::string members =
        is_job ? counted(alike.use.members, alike.use.is_defined ? "rank" : "calling rank") + ": " : "";
    text += fmt::format("    {}{} {}, {}  [{}]\n", members, name_of(alike.use.kind), counted(alike.use.calls, "call"),
                        scaled(alike.use.bytes, "B"), names);
  }
  return text;
}

}  // namespace

GraphSummary summarise(const ExecutionGraph& graph) {
  GraphSummary summary;
  summary.nodes = graph.size();
  summary.edges = graph.edge_count();
  summary.streams = graph.stream_count();
  summary.memory_bytes = graph.memory_bytes();
  summarise_nodes(graph, summary);
  summarise_edges(graph, summary);
  return summary;
}

Inspection inspect(const Job& job, std::string source) {
  Inspection result;
  result.source = std::move(source);
  result.ranks = job.ranks.size();
  result.communicators_defined =
      static_cast<std::size_t>(std::ranges::count_if(job.communicators, &Communicator::is_defined)) - 1;
  for (const ExecutionGraph& graph : job.graphs) {
    result.graphs.push_back({{}, summarise(graph)});
    result.memory_bytes += graph.memory_bytes();
  }
  for (const NodeLabels& labels : job.labels) result.memory_bytes += labels.memory_bytes();
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    result.graphs[job.ranks[rank].graph].ranks.push_back(rank);
  result.communicators = communicator_uses(job, result.graphs);
  return result;
}

Inspection inspect_job(const ChakraSource& source, Diagnostics& diagnostics, const LoadProgress& progress) {
  const std::optional<Job> job = try_load_chakra_job(source, TraceReader::kInspect, diagnostics, progress);
  diagnostics.throw_if_errors();
  return inspect(*job, source.prefix);
}

Inspection inspect_trace(const std::string& file, Dependencies dependencies, Diagnostics& diagnostics) {
  const RankTrace trace = read_rank_trace(file, read_file(file), dependencies, TraceReader::kInspect);
  const RankFindings findings{0, &trace.findings};
  report({&findings, 1}, false, diagnostics);
  diagnostics.throw_if_errors();

  Inspection result;
  result.source = file;
  result.is_job = false;
  result.ranks = 1;
  result.graphs.push_back({{}, summarise(*trace.graph)});
  result.memory_bytes = trace.graph->memory_bytes() + trace.labels.memory_bytes();
  for (const CallSummary& call : result.graphs.front().summary.calls) {
    const std::string& name = trace.communicators[call.slot];
    result.communicators.push_back({name.empty() ? "world" : name, 0, true, call.kind, call.calls, call.bytes});
  }
  return result;
}

std::string to_text(const Inspection& inspection) {
  std::string text = printable(inspection.source) + "\n";
  if (inspection.is_job)
    text += fmt::format("  {}, {}, {} defined, {} in memory\n", counted(inspection.ranks, "rank"),
                        counted(inspection.graphs.size(), "distinct graph"),
                        counted(inspection.communicators_defined, "communicator group"),
                        scaled(static_cast<Total>(inspection.memory_bytes), "B"));
  for (const GraphUse& graph : inspection.graphs) {
    text += inspection.is_job
                ? fmt::format("  graph of {}: {}\n", rank_list(graph.ranks), counted(graph.summary.nodes, "node"))
                : "  " + counted(graph.summary.nodes, "node") + "\n";
    text += text_of(graph.summary);
  }
  if (inspection.communicators.empty()) return text + "  no collectives\n";
  return text + "  collectives (a member's calls and input bytes)\n" +
         text_of(inspection.communicators, inspection.is_job);
}

nlohmann::ordered_json to_json(const Inspection& inspection) {
  OrderedJson graphs = OrderedJson::array();
  for (const GraphUse& graph : inspection.graphs) {
    OrderedJson entry = json_of(graph.summary);
    if (inspection.is_job) entry["ranks"] = graph.ranks;
    graphs.push_back(std::move(entry));
  }
  OrderedJson communicators = OrderedJson::array();
  for (const CommunicatorUse& use : inspection.communicators) {
    OrderedJson entry = {{"name", printable(use.name, use.name.size() * 4)}};
    if (inspection.is_job) entry[use.is_defined ? "members" : "callers"] = use.members;
    entry["op"] = name_of(use.kind);
    entry["calls"] = use.calls;
    entry["bytes"] = number(use.bytes);
    communicators.push_back(std::move(entry));
  }
  OrderedJson result = {{"schema", "orrery.workload/1"},
                        {"source", printable(inspection.source, inspection.source.size() * 4)}};
  if (inspection.is_job) {
    result["ranks"] = inspection.ranks;
    result["communicators_defined"] = inspection.communicators_defined;
  }
  result["distinct_graphs"] = inspection.graphs.size();
  result["memory_bytes"] = inspection.memory_bytes;
  result["graphs"] = std::move(graphs);
  result["collectives"] = std::move(communicators);
  return result;
}

}  // namespace orrery::workload
