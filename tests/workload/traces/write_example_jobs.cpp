// SPDX-License-Identifier: MIT
// write_example_jobs FOLDER: writes random jobs as FOLDER/<i>/job.<rank>.et, and on standard output what they hold as
// JSON lines, one per node: for written_traces_test.py.
#include <iostream>

#include <nlohmann/json.hpp>

#include "tests/workload/traces/mixed_job.h"
#include "workload/tools/writer.h"

namespace {

using namespace orrery;
using namespace orrery::workload;

nlohmann::json expected(const Job& job, RankId rank, NodeId node) {
  const ExecutionGraph& graph = job.graph(rank);
  nlohmann::json result = {{"id", job.labels_of(rank).trace_id(node)},
                           {"name", job.labels_of(rank).name(node)},
                           {"kind", name_of(graph.kind(node))},
                           {"flops", graph.flops(node).count()},
                           {"bytes", graph.bytes(node).count()},
                           {"priority", graph.priority(node)},
                           {"stream", graph.stream(node)},
                           {"after", nlohmann::json::array()}};
  if (graph.duration(node)) result["picos"] = graph.duration(node)->count();
  if (graph.kind(node) == NodeKind::kCollective) {
    result["collective"] = name_of(graph.collective_kind(node));
    result["group"] = index_of(job.communicator(rank, node));
  } else if (graph.kind(node) == NodeKind::kSend || graph.kind(node) == NodeKind::kReceive) {
    result["peer"] = index_of(job.peer(rank, node));
    result["tag"] = job.tag(rank, node);
  }
  return result;
}

void print(const Job& job, RankId rank, const std::string& file) {
  const ExecutionGraph& graph = job.graph(rank);
  std::vector<nlohmann::json> nodes;
  for (std::uint32_t i = 0; i < graph.size(); ++i) nodes.push_back(expected(job, rank, NodeId{i}));
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    for (const NodeId after : graph.successors(NodeId{i})) nodes[index_of(after)]["after"].push_back(nodes[i]["id"]);
  std::cout << nlohmann::json{{"file", file}, {"rank", index_of(rank)}, {"nodes", nodes}}.dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  std::mt19937_64 random(5);
  for (std::uint32_t i = 0; i < 5; ++i) {
    const Job job = testing::random_mixed_job(random, 2 + i, 60);
    const ChakraSource source = write_job(job, std::filesystem::path(argv[1]) / std::to_string(i), "job");
    for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
      print(job, RankId{rank}, source.prefix + "." + std::to_string(rank) + ".et");
  }
  return 0;
}
