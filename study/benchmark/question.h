// SPDX-License-Identifier: MIT
// Question to `orrery collective`: the machine, the experiment that follows from it, and the sizes, given as nccl-tests
// takes them (-b 8 -e 16G -f 2, or -i 1M for steps of equal length).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/units.h"
#include "experiment/experiment.h"
#include "workload/calls/operation.h"

namespace orrery::study {

// Question as written on the command line; an empty text was not given.
struct CollectiveQuestion {
  std::string cluster;                            // a name, a file or, in braces, the cluster itself
  std::optional<ConfigValue> resolved_cluster{};  // which `cluster` then only names
  std::string nodes{};                            // the cluster's own number
  std::string devices_per_node{};                 // workload.ranks_per_node
  std::string devices{};                          // of each node, as "0,1,4,5"; not together with `devices_per_node`
  std::string algorithm{};       // for all dimensions, or "a,b": one per dimension, case ignored; of nccl: any of them
  std::string algorithm_file{};  // in place of `algorithm`
  std::string algorithm_size{};  // for which that was written, where it does not say
  std::string protocol{};        // of nccl: any of "a,b", case ignored
  std::string launch{};          // of nccl
  std::string library{};         // the configuration's own
  std::vector<std::string> settings{};
  std::string shares{};      // workload.shares
  std::string skew{};        // workload.skew; not together with `shares`
  std::string seed{};        // workload.seed
  bool wants_bound = false;  // least_time() of every row
};

// Reads the call as an experiment; `size` of its CallSource may be changed afterwards. Throws InputError, which names
// the option that is wrong; warnings go to `diagnostics`.
experiment::Experiment read_question(const CollectiveQuestion& question, const workload::CallOperation& operation,
                                     const ConfigFiles& files, Diagnostics& diagnostics, Bytes size = Bytes(1));

// Origin named in errors of the cluster: its name or file, or the option.
std::string cluster_origin(const std::string& cluster);

// Title of a cluster in results: a name stays, a file has its stem, one in braces its key `name` or "inline".
std::string cluster_title(const std::string& cluster);

// Sizes as written on the command line; an empty text was not given. `factor` and `increment` are not both given.
struct BenchmarkSizes {
  std::string first{};      // -b; 32M
  std::string last{};       // -e; as -b
  std::string factor{};     // -f; 2
  std::string increment{};  // -i
};

// From `first` to at most `last`, each the one before times `factor` (rounded down) or plus `increment`. Sizes are
// whole bytes, or have a unit of bytes as quantities do everywhere; K, M, G and T are KiB, MiB, GiB and TiB. InputError
// names the option that is wrong.
std::vector<Bytes> sizes_of(const BenchmarkSizes& sizes);

// Sizes for an operation: a barrier has none, which is one row of size 0; InputError if a size was given.
std::vector<Bytes> sizes_of(const BenchmarkSizes& sizes, const workload::CallOperation& operation);

}  // namespace orrery::study
