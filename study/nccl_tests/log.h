// SPDX-License-Identifier: MIT
// Measurements by nccl-tests: the tables in the logs of all_reduce_perf and its sisters, of any version, in between
// whatever else a job printed. Reads also tables of those numbers as CSV ("size_bytes,oop_time_us,..."), and what
// `orrery collective` prints for one cluster, as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/units.h"

namespace orrery::study {

struct NcclRow {
  // One way of running it. Nothing stands for what the log does not have: "N/A", blank, "nan", no such column.
  struct Side {
    std::optional<Duration> time;        // positive
    std::optional<double> algbw;         // as printed: in GB/s, 10^9 bytes per second
    std::optional<double> busbw;         // likewise
    std::optional<std::uint64_t> wrong;  // elements that were not as expected
    std::optional<double> error;         // versions before `wrong`: the largest difference to what was expected
  };

  int line = 0;  // 0: the file has no lines (JSON)
  Bytes bytes;   // as workload::CallSize says
  std::optional<std::uint64_t> count;
  std::string type;       // "float"; may be empty
  std::string reduction;  // "sum", "none"; may be empty
  std::optional<int> root;
  Side out_of_place;
  Side in_place;
};

// One run. What the log does not tell is empty, or 0.
struct NcclTable {
  int line = 0;      // of the heading
  std::string test;  // the operation of the program that ran: "all_gather", ..., "all_to_all_v", "hypercube"
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;   // hosts
  std::uint32_t groups = 0;  // of ranks that ran beside one another (NCCL_TESTS_SPLIT)
  std::optional<std::uint32_t> threads_per_process;
  std::optional<std::uint32_t> devices_per_thread;
  std::string device;         // as its driver calls it: "NVIDIA H100 80GB HBM3"; of several kinds the first
  std::string nccl_version;   // "2.18.3+cuda12.2"
  bool is_simulated = false;  // `orrery collective` wrote it
  bool cpu_times = false;     // "cputime": how long the calls took on the host, not the operation
  std::vector<NcclRow> rows;  // at least one
};

// The tables in `text`, in their order. Errors: no table at all, with what NCCL said instead; values that are negative
// or out of range, in rows that are left out. Warnings: rows that are not whole, that contradict themselves (algbw is
// not bytes / time within what printing rounds away), that had wrong results; headings without rows, or with times of
// the host. `name` is the file's in all of them.
std::vector<NcclTable> read_nccl_log(std::string_view text, const std::string& name, Diagnostics& diagnostics);

}  // namespace orrery::study
