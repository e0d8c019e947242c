// SPDX-License-Identifier: MIT
// One collective over all ranks of a cluster, size by size: what nccl-tests measures, simulated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/machine_kind.h"
#include "core/units.h"
#include "experiment/runs/run.h"
#include "report/documents/documents.h"
#include "report/result.h"
#include "study/benchmark/question.h"

namespace orrery::study {

// Bound of a collective: a link, latency, or its protocol.
struct CollectiveBound {
  std::string name;  // the busiest link's class without its direction: "nvlink", "nic"; or "latency", "protocol"
  // Share of the time. A link: bytes / (bandwidth * time), which passes 1 only where links are not shared. Latency:
  // what the call would take without its bytes. Protocol: what the bytes would take on links of any bandwidth.
  double share = 0;
};

// Overload of a link: how many times its bandwidth it carried.
struct LinkOverload {
  std::string name;  // its class without its direction
  double factor = 0;
};

struct CollectiveRow {
  Bytes bytes;  // as workload::CallSize says
  std::int64_t count = 0;
  Duration time{};
  double algorithm_bandwidth = 0;  // bytes / time, in bytes per second
  double bus_bandwidth = 0;        // times workload::bus_factor()
  // "ring"; of the fixed library one per dimension in use, "halving-doubling+ring"; "point-to-point". Of nccl "nvls",
  // and "send/recv" of what it makes of those.
  std::string algorithm;
  std::optional<std::string> protocol{};  // of nccl: "ll128"
  CollectiveBound bound;
  LinkOverload overload;
  std::optional<Duration> least{};                 // least_time(), if the question asked for it
  std::optional<report::TimeInterval> interval{};  // how sure it is, as far as the like was measured
  bool balanced_in_vain = false;                   // report::Result::balanced_in_vain
};

struct CollectiveTable {
  std::string cluster;  // its name, or its file's
  std::string operation;
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;
  std::string device;
  Architecture generation = Architecture::kOther;  // of the devices
  NetworkKind network = NetworkKind::kOther;       // between the nodes
  bool has_mixed_devices = false;                  // `device` names several types
  std::string network_model;
  std::string library{};    // "nccl 2.30.0"; empty: the fixed one
  std::string algorithm{};  // that was asked for; empty: any
  // Extremes of an all-to-all whose sizes differ; a row's size is then the mean over ranks.
  std::optional<experiment::ShareExtremes> shares{};
  std::string by_hand{};  // the key that no measurement has so, for which there are no intervals
  std::vector<CollectiveRow> rows;
  std::vector<Problem> warnings;
};

// Throws InputError, which names the option that is wrong.
CollectiveTable study_collective(const CollectiveQuestion& question, const workload::CallOperation& operation,
                                 std::span<const Bytes> sizes, const ConfigFiles& files,
                                 const experiment::RunProgress& progress = {});

// Throws what study_collective() would, but simulates none of the sizes.
void check_collective(const CollectiveQuestion& question, const workload::CallOperation& operation,
                      std::span<const Bytes> sizes, const ConfigFiles& files);

double microseconds(Duration time);

// "16 ranks (2 x 8 a100-sxm-80gb), flow network, nccl 2.30.0", and who sends and receives most where sizes differ.
std::string machine_text(const CollectiveTable& table);

// nccl-tests' columns, the algorithm (of nccl, the protocol), and what bounds it.
std::string collective_text(const CollectiveTable& table);

// At least two tables of the same sizes: time and bus bandwidth of each, of nccl what it takes, and from the second on
// the ratio of its bus bandwidth to the first one's.
std::string side_by_side_text(std::span<const CollectiveTable> tables);

// The JSON document "orrery.collective/1". With the fixed library, which has none, `protocol` is null.
nlohmann::ordered_json to_json(const CollectiveTable& table);
report::Document collective_document();

}  // namespace orrery::study
