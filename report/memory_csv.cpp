#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/result.h"

namespace orrery {
namespace {

using Change = std::pair<Time, std::int64_t>;

// What is given back at an instant goes before what is taken.
std::vector<Change> changes_of(const ProgramMemory& program, std::span<const OperationRecord> operations,
                               std::size_t nodes) {
  std::vector<const OperationRecord*> by_node(nodes);
  for (const OperationRecord& operation : operations) by_node[index_of(operation.node)] = &operation;
  std::vector<Change> changes;
  for (const MemoryChange& change : program.changes)
    if (const OperationRecord* operation = by_node[index_of(change.node)])
      changes.emplace_back(change.at_end ? operation->end : operation->start, change.bytes);
  std::ranges::sort(changes);
  return changes;
}

}  // namespace

std::string memory_csv(const TrainingFacts& facts, const OperationLog& log, std::span<const RankId> acting) {
  std::string text = "rank,time_ps,bytes\n";
  for (const ProgramMemory& program : facts.memory) {
    std::int64_t now = program.need.standing().count();
    text += fmt::format("{},0,{}\n", index_of(program.first_rank), now);
    std::size_t nodes = 0;
    for (const MemoryChange& change : program.changes) nodes = std::max<std::size_t>(nodes, index_of(change.node) + 1);
    const auto operations = log.of(acting[index_of(program.first_rank)]);
    for (const OperationRecord& operation : operations)
      nodes = std::max<std::size_t>(nodes, index_of(operation.node) + 1);
    for (const auto& [time, bytes] : changes_of(program, operations, nodes))
      text += fmt::format("{},{},{}\n", index_of(program.first_rank), time.time_since_epoch().count(), now += bytes);
  }
  return text;
}

}  // namespace orrery
