// SPDX-License-Identifier: MIT
#include "report/operations/rank_csv.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "report/operations/memory_changes.h"
#include "report/operations/operation_facts.h"

namespace orrery::report {
namespace {

// Lines of ranks that act alike are the same but for a few cells: they are written once, with marks for these.
class OperationLines {
 public:
  explicit OperationLines(const TimelineSource& source) : source_(source), alike_(source.acting.size(), 0) {
    for (const RankId acting : source.acting) ++alike_[index_of(acting)];
  }

  void add(const ChosenRank& chosen, std::string& text) {
    const Lines& lines = lines_for(chosen);
    std::string_view rest = lines.text;
    for (const NodeId node : lines.nodes) {
      const OperationFacts facts = facts_by_rank(source_.job, chosen, node);
      for (const FactColumn& column : fact_columns()) {
        if (!column.is_by_rank) continue;
        const std::size_t mark = rest.find(kMark);
        text += rest.substr(0, mark);
        rest.remove_prefix(mark + 1);
        add_csv_cell(column.of(facts), text);
      }
      const std::size_t end = rest.find('\n') + 1;
      text += rest.substr(0, end);
      rest.remove_prefix(end);
    }
  }

 private:
  static constexpr char kMark = '\x01';                        // no cell has control characters
  static constexpr std::size_t kMostText = 128 * 1024 * 1024;  // kept for other ranks

  struct Lines {
    RankId rank{};  // for which they were written
    std::vector<NodeId> nodes;
    std::string text;
  };
  // Acting rank, place in the pipeline, graph and labels.
  using Key = std::tuple<RankId, std::uint32_t, const workload::ExecutionGraph*, const workload::NodeLabels*>;

  const Lines& lines_for(const ChosenRank& chosen) {
    const workload::Job& job = source_.job;
    const RankId acting = source_.acting[index_of(chosen.rank)];
    if (alike_[index_of(acting)] < 2) return latest_ = written(chosen, acting);
    const Key key{acting, place_of(chosen.rank), &job.graph(chosen.rank), &job.labels_of(chosen.rank)};
    if (const auto known = known_.find(key); known != known_.end()) {
      if (source_.machine == nullptr || source_.machine->are_alike(job, known->second.rank, chosen.rank))
        return known->second;
      kept_ -= known->second.text.size();
    }
    Lines made = written(chosen, acting);
    if (kept_ + made.text.size() > kMostText) {
      known_.clear();
      kept_ = 0;
    }
    kept_ += made.text.size();
    return known_[key] = std::move(made);
  }

  Lines written(const ChosenRank& chosen, RankId acting) {
    Lines lines{chosen.rank, {}, {}};
    source_.log.of(acting, operations_);
    const RankFacts rank(source_, chosen);
    for (const system::OperationRecord& operation : operations_) {
      const OperationFacts facts = rank.of(operation);
      lines.nodes.push_back(operation.node);
      for (const FactColumn& column : fact_columns()) {
        if (column.is_by_rank)
          lines.text += kMark;
        else
          add_csv_cell(column.of(facts), lines.text);
        lines.text += ',';
      }
      lines.text.back() = '\n';
    }
    return lines;
  }

  std::uint32_t place_of(RankId rank) const {
    if (!source_.training || source_.training->pipelines.empty()) return 0;
    return source_.training->pipelines[job_of(*source_.training, rank)].place_of(rank);
  }

  const TimelineSource source_;
  std::vector<std::uint32_t> alike_;  // by acting rank: for how many it acts
  std::map<Key, Lines> known_;
  std::size_t kept_ = 0;  // text in these
  Lines latest_;          // not kept
  std::vector<system::OperationRecord> operations_;
};

}  // namespace

std::vector<std::pair<Time, std::int64_t>> memory_changes(const workload::ProgramMemory& program,
                                                          std::span<const system::OperationRecord> operations,
                                                          std::size_t nodes) {
  std::vector<const system::OperationRecord*> by_node(nodes);  // by number
  for (const system::OperationRecord& operation : operations) by_node[operation.number] = &operation;
  std::vector<std::pair<Time, std::int64_t>> changes;
  for (const workload::MemoryChange change : program.changes)
    if (const system::OperationRecord* operation = by_node[change.number])
      changes.emplace_back(change.at_end ? operation->end : operation->start, change.bytes);
  std::ranges::sort(changes);
  return changes;
}

RankCsv operations_csv(const TimelineSource& source) {
  const auto acting = [&source](RankId rank) { return source.acting[index_of(rank)]; };
  return {facts_heading() + "\n", [&source, acting](RankId rank) { return source.log.count(acting(rank)); },
          [lines = std::make_shared<OperationLines>(source)](const ChosenRank& chosen, std::string& text) {
            lines->add(chosen, text);
          }};
}

RankCsv memory_csv(const workload::Job& job, const workload::TrainingFacts& facts, const OperationLog& log,
                   std::span<const RankId> acting) {
  const auto program_of = [&](RankId rank) -> const workload::ProgramMemory& {
    return facts.memory[job.ranks.graph(index_of(rank))];
  };
  return {"rank,stands_for,time_ps,bytes\n", [program_of](RankId rank) { return 1 + program_of(rank).changes.size(); },
          [=, &job, &log](const ChosenRank& chosen, std::string& text) {
            const workload::ProgramMemory& program = program_of(chosen.rank);
            std::int64_t now = program.need.standing().count();
            const auto add = [&](std::int64_t picoseconds) {
              fmt::format_to(std::back_inserter(text), FMT_COMPILE("{},{},{},{}\n"), index_of(chosen.rank),
                             chosen.stands_for, picoseconds, now);
            };
            add(0);
            const auto operations = log.of(acting[index_of(chosen.rank)]);
            for (const auto& [time, bytes] :
                 memory_changes(program, operations, job.graph(chosen.rank).written_out_size())) {
              now += bytes;
              add(time.time_since_epoch().count());
            }
          }};
}

Bytes estimated_size(const RankCsv& table, std::span<const ChosenRank> ranks) {
  const double heading = static_cast<double>(table.heading.size());
  if (ranks.empty()) return Bytes(std::llround(heading));
  std::string lines;
  table.add_lines(ranks.front(), lines);
  const auto of_first = static_cast<double>(std::max<std::uint64_t>(table.records(ranks.front().rank), 1));
  double records = 0;
  for (const ChosenRank& chosen : ranks) records += static_cast<double>(table.records(chosen.rank));
  return Bytes(std::llround(heading + static_cast<double>(lines.size()) * records / of_first));
}

void write_csv(const RankCsv& table, std::span<const ChosenRank> ranks,
               const std::function<void(std::string_view)>& write) {
  write(table.heading);
  std::string lines;
  for (const ChosenRank& chosen : ranks) {
    lines.clear();
    table.add_lines(chosen, lines);
    write(lines);
  }
}

}  // namespace orrery::report
