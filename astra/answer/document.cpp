// SPDX-License-Identifier: MIT
#include "astra/answer/document.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/version.h"

namespace orrery::astra {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostClasses = 200;   // of a page's table
constexpr std::size_t kMostRanks = 48;      // of a page's timeline
constexpr std::size_t kMostSlices = 2'000;  // of each of its tracks
constexpr std::size_t kReceive = 9;

constexpr std::array<std::string_view, 10> kKinds = {"compute",    "host",           "memory",     "all-reduce",
                                                     "all-gather", "reduce-scatter", "all-to-all", "broadcast",
                                                     "p2p send",   "p2p receive"};

std::size_t kind_of(const Node& node) {
  if (node.on_host) return 1;
  switch (node.kind) {
    case NodeKind::kCompute:
    case NodeKind::kInvalid:
      return 0;
    case NodeKind::kMemory:
      return 2;
    case NodeKind::kSend:
      return 8;
    case NodeKind::kReceive:
      return kReceive;
    case NodeKind::kCollective:
      break;
  }
  return 3 + static_cast<std::size_t>(node.comm);
}

// Breakdown of a rank's time; the parts are disjoint, and the kind that comes first counts.
struct Breakdown {
  std::array<Ticks, kKinds.size()> of_kind{};
  Ticks idle = 0;
};

Breakdown breakdown_of(const Program& program, const std::vector<Operation>& operations, Ticks finish) {
  std::vector<std::pair<Ticks, int>> changes;  // of how many operations of a kind run: + or - (1 + kind)
  for (const Operation& operation : operations) {
    const int kind = 1 + static_cast<int>(kind_of(program.nodes[operation.node]));
    changes.emplace_back(operation.start, kind);
    changes.emplace_back(operation.end, -kind);
  }
  std::ranges::sort(changes);
  std::array<int, kKinds.size()> running{};
  Breakdown breakdown;
  Ticks at = 0;
  const auto pass = [&](Ticks until) {
    const auto first = std::ranges::find_if(running, [](int count) { return count > 0; });
    (first == running.end() ? breakdown.idle : breakdown.of_kind[static_cast<std::size_t>(first - running.begin())]) +=
        until - at;
    at = until;
  };
  for (const auto& [time, kind] : changes) {
    pass(time);
    running[static_cast<std::size_t>(std::abs(kind) - 1)] += kind > 0 ? 1 : -1;
  }
  pass(finish);
  return breakdown;
}

double seconds(Ticks ticks) { return static_cast<double>(ticks) / 1e9; }

std::vector<std::vector<std::uint32_t>> members_of(const Result& result) {
  std::vector<std::vector<std::uint32_t>> members(result.agents.size());
  for (std::uint32_t rank = 0; rank < result.ranks.size(); ++rank) members[result.ranks[rank].agent].push_back(rank);
  return members;
}

// "0-3, 8, 12-15"
std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += end - i == 1 ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[end - 1]);
    i = end;
  }
  return text;
}

Json breakdown_json(const Job& job, const Result& result) {
  const auto members = members_of(result);
  Json rows = Json::array();
  for (std::size_t agent = 0; agent < result.agents.size(); ++agent) {
    const std::uint32_t rank = result.agents[agent];
    const RankResult& of_rank = result.ranks[rank];
    const Breakdown parts =
        breakdown_of(job.programs[job.ranks[rank].program], result.operations[agent], of_rank.finish);
    Json exposed = Json::object();
    for (std::size_t kind = 3; kind < kKinds.size(); ++kind)
      if (parts.of_kind[kind] > 0) exposed[std::string(kKinds[kind])] = seconds(parts.of_kind[kind]);
    rows.push_back({{"class", agent},
                    {"ranks", members[agent].size()},
                    {"first_rank", rank},
                    {"members", ranks_text(members[agent])},
                    {"compute_s", seconds(parts.of_kind[0] + parts.of_kind[1] + parts.of_kind[2])},
                    {"host_s", seconds(parts.of_kind[1])},
                    {"memory_s", seconds(parts.of_kind[2])},
                    {"exposed_comm_s", std::move(exposed)},
                    {"bubble_s", 0.0},
                    {"wait_s", 0.0},
                    {"idle_s", seconds(parts.idle)},
                    {"finish_s", seconds(of_rank.finish)}});
  }
  return rows;
}

Json inputs_json(const Inputs& inputs) {
  const Flags& flags = inputs.flags;
  Json dimensions = Json::array();
  for (const Dimension& dimension : inputs.network.dimensions)
    dimensions.push_back({{"topology", name_of(dimension.topology)},
                          {"npus_count", dimension.size},
                          {"bandwidth", dimension.gigabytes},
                          {"latency", dimension.latency}});
  return {{"workload-configuration", flags.workload},
          {"system-configuration", flags.system},
          {"network-configuration", flags.network},
          {"remote-memory-configuration", flags.remote_memory},
          {"comm-group-configuration", flags.groups},
          {"backend", flags.backend == Backend::kAware ? "congestion_aware" : "congestion_unaware"},
          {"num-queues-per-dim", flags.queues_per_dimension},
          {"injection-scale", flags.injection_scale},
          {"rendezvous-protocol", flags.rendezvous},
          {"network", std::move(dimensions)}};
}

Ticks last_finish(const Result& result) {
  return result.ranks.empty() ? 0 : std::ranges::max(result.ranks, {}, &RankResult::finish).finish;
}

std::string slice_name(const Node& node) {
  const std::size_t kind = kind_of(node);
  return fmt::format("{}, node {}", node.kind == NodeKind::kInvalid ? "invalid" : kKinds[kind], node.id);
}

// [gap since the last, length, name, 0, 0] for each, one after the other.
Json track_json(const Program& program, const std::vector<Operation>& operations, std::size_t kind, Json& names) {
  Json slices = Json::array();
  Ticks last = 0;
  for (const Operation& operation : operations) {
    const Node& node = program.nodes[operation.node];
    if (kind_of(node) != kind || operation.start < last || slices.size() >= 5 * kMostSlices) continue;
    slices.push_back(operation.start - last);
    slices.push_back(operation.end - operation.start);
    slices.push_back(names.size());
    slices.push_back(0);
    slices.push_back(0);
    names.push_back(slice_name(node));
    last = operation.end;
  }
  return slices;
}

Json timeline_json(const Job& job, const Result& result) {
  const auto members = members_of(result);
  Json names = Json::array();
  Json ranks = Json::array();
  for (std::size_t agent = 0; agent < std::min(result.agents.size(), kMostRanks); ++agent) {
    const std::uint32_t rank = result.agents[agent];
    const Program& program = job.programs[job.ranks[rank].program];
    Json tracks = Json::array();
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
      Json slices = track_json(program, result.operations[agent], kind, names);
      if (!slices.empty()) tracks.push_back({{"name", kKinds[kind]}, {"slices", std::move(slices)}});
    }
    ranks.push_back(
        {{"rank", rank}, {"class", agent}, {"stands_for", members[agent].size()}, {"tracks", std::move(tracks)}});
  }
  return {{"tick_s", 1e-9},
          {"end_s", seconds(last_finish(result))},
          {"merged_s", 0.0},
          {"classes", result.agents.size()},
          {"names", std::move(names)},
          {"ranks", std::move(ranks)}};
}

}  // namespace

Json document_of(const Inputs& inputs, const Job& job, const Result& result, const std::vector<std::string>& notes) {
  Json document = {{"schema", "orrery.astra-sim/1"},    {"version", kVersion},
                   {"experiment", inputs_json(inputs)}, {"iteration_time_s", seconds(last_finish(result))},
                   {"ranks", result.ranks.size()},      {"rank_classes", result.agents.size()}};
  Json finish = Json::array(), exposed = Json::array(), compute = Json::array();
  for (std::uint32_t rank = 0; rank < result.ranks.size(); ++rank) {
    finish.push_back(result.ranks[rank].finish);
    compute.push_back(result.ranks[rank].compute);
    exposed.push_back(result.exposed(rank));
  }
  document["finish_ns"] = std::move(finish);
  document["compute_ns"] = std::move(compute);
  document["exposed_communication_ns"] = std::move(exposed);
  document["breakdown"] = breakdown_json(job, result);
  document["departures"] = notes;
  document["warnings"] = Json::array();
  for (const Problem& warning : result.warnings) document["warnings"].push_back(to_string(warning));
  document["simulation"] = {
      {"events", result.events},
      {"messages", result.messages},
      {"model", inputs.flags.backend == Backend::kAware ? "congestion_aware" : "congestion_unaware"},
      {"folded", result.agents.size() < result.ranks.size()}};
  return document;
}

Json page_data(const Inputs& inputs, const Job& job, const Result& result, const std::vector<std::string>& notes) {
  Json document = document_of(inputs, job, result, notes);
  for (const char* list : {"finish_ns", "compute_ns", "exposed_communication_ns"}) document.erase(list);
  Json& breakdown = document["breakdown"];
  if (breakdown.size() > kMostClasses) {
    document["breakdown_of"] = breakdown.size();
    breakdown.erase(breakdown.begin() + static_cast<std::ptrdiff_t>(kMostClasses), breakdown.end());
  }
  std::map<std::string, double> sums;  // over classes, each as often as it has ranks
  for (const Json& row : breakdown) {
    const double ranks = row["ranks"].get<double>();
    sums["compute"] += ranks * row["compute_s"].get<double>();
    sums["idle"] += ranks * row["idle_s"].get<double>();
    for (const auto& [kind, time] : row["exposed_comm_s"].items()) sums[kind] += ranks * time.get<double>();
  }
  std::vector<std::pair<std::string, double>> parts(sums.begin(), sums.end());
  std::ranges::stable_sort(parts, std::greater<>(), &std::pair<std::string, double>::second);
  Json parts_json = Json::array();
  for (const auto& [name, sum] : parts)
    if (sum > 0) parts_json.push_back({{"name", name}, {"seconds", sum / static_cast<double>(result.ranks.size())}});
  document["cluster_devices"] = inputs.network.npus;
  document["critical_path"] = Json::array();
  document["links"] = Json::array();
  for (const std::string& note : notes) document["warnings"].push_back("note: " + note);
  return {{"kind", "run"},
          {"document", std::move(document)},
          {"parts", std::move(parts_json)},
          {"bandwidths", Json::object()},
          {"timeline", timeline_json(job, result)}};
}

}  // namespace orrery::astra
