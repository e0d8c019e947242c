#include "workload/inspect.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "workload/chakra_file.h"
#include "workload/findings.h"
#include "workload/rank_list.h"
#include "workload/rank_trace.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

double seconds_of(Total picoseconds) { return static_cast<double>(picoseconds) * 1e-12; }

// JSON integers beyond 64 bits are not portable: such sums are given as floating point.
Json number(Total value) {
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
    if (k.measured > 0) text += fmt::format("   measured {} ({} nodes)", milliseconds(k.picoseconds), k.measured);
    text += '\n';
  }
  if (s.flops > 0) text += fmt::format("    FLOPs         {}\n", scaled(s.flops, "FLOP"));
  if (s.tensor_bytes > 0) text += fmt::format("    tensors       {}\n", scaled(s.tensor_bytes, "B"));
  if (s.sends + s.receives > 0)
    text += fmt::format("    transfers     {} sent in {}, {} received in {}\n", scaled(s.bytes_sent, "B"), s.sends,
                        scaled(s.bytes_received, "B"), s.receives);
  text += fmt::format("    dependencies  {}; {} roots, {} leaves; at most {} in, {} out of a node\n", s.edges, s.roots,
                      s.leaves, s.most_predecessors, s.most_successors);
  text += fmt::format("    longest chain {} nodes; by measured compute {}\n", s.longest_chain,
                      milliseconds(s.longest_chain_picoseconds));
  text += fmt::format("    streams       {}\n", s.streams);
  text += fmt::format("    memory        {:.1f} bytes a node\n",
                      static_cast<double>(s.memory_bytes) / static_cast<double>(s.nodes));
  return text;
}

Json json_of(const GraphSummary& s) {
  Json kinds = Json::object();
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
      use.kind = call.kind;
      use.calls = std::max(use.calls, call.calls);
      use.bytes = std::max(use.bytes, call.bytes);
    }
  }
  std::vector<CommunicatorUse> result;
  for (auto& [key, use] : uses) result.push_back(std::move(use));
  return result;
}

// Communicators with the same traffic in one line each: the tensor groups of all replicas.
std::string text_of(const std::vector<CommunicatorUse>& uses, bool is_job) {
  struct Alike {
    CommunicatorUse use;
    std::vector<std::string> names;
  };
  std::vector<Alike> groups;
  std::map<std::tuple<std::size_t, CollectiveKind, std::size_t, Total>, std::size_t> index;
  for (const CommunicatorUse& use : uses) {
    const auto [entry, is_new] = index.try_emplace({use.members, use.kind, use.calls, use.bytes}, groups.size());
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
    const std::string members = is_job ? fmt::format("{} ranks: ", alike.use.members) : "";
    text += fmt::format("    {}{} {} calls, {}  [{}]\n", members, name_of(alike.use.kind), alike.use.calls,
                        scaled(alike.use.bytes, "B"), names);
  }
  return text;
}

}  // namespace

Inspection inspect(const Job& job, std::string source) {
  Inspection result;
  result.source = std::move(source);
  result.ranks = job.ranks.size();
  result.communicators_defined = job.communicators.size() - 1;
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

Inspection inspect_trace(const std::string& file, Dependencies dependencies, Diagnostics& diagnostics) {
  const RankTrace trace = read_rank_trace(file, read_file(file), dependencies);
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
    result.communicators.push_back({name.empty() ? "world" : name, 0, call.kind, call.calls, call.bytes});
  }
  return result;
}

std::string to_text(const Inspection& inspection) {
  std::string text = printable(inspection.source) + "\n";
  if (inspection.is_job)
    text += fmt::format("  {} ranks, {} distinct graphs, {} communicator groups defined, {} in memory\n", inspection.ranks,
                        inspection.graphs.size(), inspection.communicators_defined, scaled(inspection.memory_bytes, "B"));
  for (const GraphUse& graph : inspection.graphs) {
    text += inspection.is_job ? fmt::format("  graph of {}: {} nodes\n", rank_list(graph.ranks), graph.summary.nodes)
                              : fmt::format("  {} nodes\n", graph.summary.nodes);
    text += text_of(graph.summary);
  }
  if (inspection.communicators.empty()) return text + "  no collectives\n";
  return text + "  collectives (a member's calls and input bytes)\n" + text_of(inspection.communicators, inspection.is_job);
}

nlohmann::ordered_json to_json(const Inspection& inspection) {
  Json graphs = Json::array();
  for (const GraphUse& graph : inspection.graphs) {
    Json entry = json_of(graph.summary);
    if (inspection.is_job) entry["ranks"] = graph.ranks;
    graphs.push_back(std::move(entry));
  }
  Json communicators = Json::array();
  for (const CommunicatorUse& use : inspection.communicators) {
    Json entry = {{"name", printable(use.name, use.name.size() * 4)}};
    if (inspection.is_job) entry["members"] = use.members;
    entry["op"] = name_of(use.kind);
    entry["calls"] = use.calls;
    entry["bytes"] = number(use.bytes);
    communicators.push_back(std::move(entry));
  }
  Json result = {{"schema", "orrery.workload/1"}, {"source", printable(inspection.source, inspection.source.size() * 4)}};
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

}  // namespace orrery
