#include <span>

#include <fmt/format.h>

#include "report/result.h"

namespace orrery {
namespace {

// RFC 4180: in quotes when needed, quotes doubled.
std::string csv_field(const std::string& text) {
  if (text.find_first_of("\",\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string operation_detail(const Job& job, RankId rank, NodeId node) {
  const ExecutionGraph& graph = job.graph(rank);
  switch (graph.kind(node)) {
    case NodeKind::kCollective:
      return fmt::format("{} on {}", name_of(graph.collective_kind(node)),
                         job.communicators[index_of(job.communicator(rank, node))].name);
    case NodeKind::kSend:
      return fmt::format("to {}", index_of(job.peer(rank, node)));
    case NodeKind::kReceive:
      return fmt::format("from {}", index_of(job.peer(rank, node)));
    default:
      return {};
  }
}

}  // namespace

std::string operations_csv(const Job& job, const OperationLog& log, std::span<const RankId> acting) {
  std::string text = "rank,node,name,kind,detail,bytes,start_ps,moving_ps,end_ps\n";
  for (std::uint32_t r = 0; r < acting.size(); ++r) {
    const RankId rank{r};
    const NodeLabels& labels = job.labels_of(rank);
    for (const OperationRecord& op : log.of(acting[r])) {
      text += fmt::format("{},{},{},{},{},{},{},{},{}\n", r, labels.trace_id(op.node),
                          csv_field(printable(labels.name(op.node), 200)), name_of(job.graph(rank).kind(op.node)),
                          csv_field(printable(operation_detail(job, rank, op.node))),
                          job.graph(rank).bytes(op.node).count(), op.start.time_since_epoch().count(),
                          op.moving.time_since_epoch().count(), op.end.time_since_epoch().count());
    }
  }
  return text;
}

}  // namespace orrery
