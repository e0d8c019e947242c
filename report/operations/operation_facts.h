// SPDX-License-Identifier: MIT
// Facts of one operation of a rank, and the table of columns by which all outputs tell them: operations.csv and the
// arguments of slices in timelines. A further fact is a row of that table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "core/ids.h"
#include "core/units.h"
#include "report/operations/machine_facts.h"
#include "report/passes/passes.h"
#include "report/rank_choice.h"
#include "report/timeline_source.h"
#include "system/execution/observer.h"
#include "workload/graph/job.h"

namespace orrery::report {

// Facts that an operation lacks are empty.
struct OperationFacts {
  ChosenRank chosen;
  std::uint64_t node = 0;  // its id in the trace
  std::string_view name{};
  workload::NodeKind kind{};
  std::string detail{};  // "all_reduce on tensor0", "to 5"
  Time start;            // as OperationRecord has them
  Time moving;
  Time end;
  const PassSpan* pass = nullptr;        // of the micro-batch that it is done for; null: of none
  std::optional<std::uint32_t> stage{};  // place of the rank in its pipeline
  std::optional<std::int64_t> layer{};   // of transformers, from 0
  Bytes bytes;                           // as ExecutionGraph::bytes()
  std::string_view operation{};          // of collectives: "all_reduce"
  std::string_view algorithm{};
  std::string_view protocol{};
  std::string_view group{};      // communicator
  std::uint32_t group_size = 0;  // its ranks; 0: no collective
  std::optional<RankId> peer{};  // of messages
  std::optional<std::int64_t> tag{};
  Flops flops{};
  std::optional<double> flop_rate{};  // FLOPs a second
  // Bytes a second while it moves: of collectives nccl-tests' algorithm bandwidth, of computing what it reads and
  // writes in the device's memory.
  std::optional<double> bandwidth{};
  std::optional<double> bus_bandwidth{};  // of collectives, as nccl-tests defines it
  // Share for computing: its FLOPs a second over the device's peak; for communication what its slowest link needs for
  // the bytes alone over the time in which they move.
  std::optional<double> peak_share{};
};

// Facts of one rank's operations.
class RankFacts {
 public:
  // `source` outlives it, and it the facts that it gives.
  RankFacts(const TimelineSource& source, const ChosenRank& chosen);
  RankFacts(const RankFacts&) = delete;
  RankFacts& operator=(const RankFacts&) = delete;

  OperationFacts of(const system::OperationRecord& operation) const;
  // The rank's passes; none if it has none.
  const std::optional<RankPasses>& passes() const { return passes_; }
  // The pass of an operation by its marks, of weight gradients that were put off theirs; null: of none.
  const PassSpan* pass_of(const system::OperationRecord& operation) const;

 private:
  // Iteration, kind, micro-batch of the way, and chunk.
  using PassKey = std::tuple<std::uint32_t, workload::PassKind, std::uint32_t, std::uint32_t>;

  const TimelineSource& source_;
  const ChosenRank chosen_;
  const workload::ExecutionGraph& graph_;
  const workload::NodeLabels& labels_;
  const workload::ProgramMarks* marks_ = nullptr;  // null: there are none
  std::optional<RankPasses> passes_;
  std::map<PassKey, const PassSpan*> spans_;
  std::multimap<PassKey, const PassSpan*> put_off_;  // weight gradients by the pass that they were put off from
};

// A value of a column: nothing, a whole number, a figure, or a text.
using FactValue = std::variant<std::monostate, std::int64_t, double, std::string_view, std::string>;

// Places where a column is told beside operations.csv: nowhere, in the arguments of slices, or also in those of passes.
// Slices have a place, a name and times anyway.
enum class FactUse : std::uint8_t { kTable, kSlices, kPasses };

struct FactColumn {
  std::string_view name;     // in files; ends with the unit where there is one
  std::string_view meaning;  // for the documents
  FactValue (*of)(const OperationFacts&);
  FactUse use = FactUse::kSlices;
  bool is_by_rank = false;  // differs among ranks that act alike
};

// Facts by rank: those of columns that differ among ranks that act alike.
OperationFacts facts_by_rank(const workload::Job& job, const ChosenRank& chosen, NodeId node);

// Columns in the order of operations.csv.
std::span<const FactColumn> fact_columns();

// Part of docs/result-keys.md: a table of the columns.
std::string facts_text();

// The first line of operations.csv, without its end.
std::string facts_heading();
// Puts a value behind the text, as a cell of operations.csv.
void add_csv_cell(const FactValue& value, std::string& text);
// Facts as the members of a JSON object, `"layer":3,"bytes":4096`; those that there are not are left out.
std::string json_arguments(const OperationFacts& facts);
// The same of a pass on a rank at this place in its pipeline.
std::string json_arguments(const PassSpan& pass, std::optional<std::uint32_t> stage);

}  // namespace orrery::report
