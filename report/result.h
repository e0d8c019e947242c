// The answer of one run, as data: what the summary, the JSON document and the files of --out are made from.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config_tree.h"
#include "core/error.h"
#include "core/units.h"
#include "network/fabric.h"
#include "network/network.h"
#include "report/breakdown.h"
#include "report/operation_log.h"
#include "system/simulation.h"
#include "workload/job.h"

namespace orrery {

// Links of one class, which are alike in what they are.
struct LinkClassUse {
  std::string name;
  std::uint64_t count = 0;
  double bytes = 0;             // of one link, mean
  Bandwidth bandwidth{1};       // of one link
  double busy = 0;              // mean share of time with any flow
  double most = 0;              // utilisation of the busiest link
  double mean_utilisation = 0;  // bytes / (capacity * time)
};

struct Result {
  ConfigValue experiment;             // resolved
  std::string device;                 // name
  std::uint32_t devices = 0;          // of the cluster, used or not
  std::string network_model;
  std::string granularity;
  std::string library;  // of collectives: "nccl 2.30.0"; empty: the fixed one
  Time finish;
  std::vector<Breakdown> classes;                   // of ranks that behave alike, in the order of their first ranks
  std::vector<std::uint32_t> class_of_rank;         // by rank
  std::map<std::string, std::string> group_family;  // communicator -> what tables add up: "tensor3" -> "tensor"
  std::vector<LinkClassUse> links;
  std::uint32_t link_classes = 0;  // told apart in simulating
  bool folded = false;
  std::string folding;              // how many classes and what told them apart, or why the job was not folded
  std::vector<FoldingStep> splits;  // when classes came apart
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  double wall_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
  std::vector<Problem> warnings;
};

// Turns a finished simulation into a result. `log` saw all of it.
Result make_result(const Job& job, const Fabric& fabric, const Simulation& simulation, const SimulationTotals& totals,
                   const OperationLog& log);

// The JSON document "orrery.result/1". `deterministic` leaves out wall time and memory, the only fields that may differ
// between two runs of the same input.
nlohmann::ordered_json to_json(const Result& result, bool deterministic);

// What a person reads on the terminal.
std::string summary_text(const Result& result);

// One line per operation: rank, node id, name, kind, start, moving and end in picoseconds.
// `acting` by rank: whose operations the log has for it (SimulationTotals).
std::string operations_csv(const Job& job, const OperationLog& log, std::span<const RankId> acting);

}  // namespace orrery
