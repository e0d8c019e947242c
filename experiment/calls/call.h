// SPDX-License-Identifier: MIT
// Jobs of one operation that all ranks do at once, without a model around it: a collective, the exchange of tokens with
// experts, or a matrix product.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/config/dispatch.h"
#include "core/machine_kind.h"
#include "core/units.h"
#include "experiment/calls/shares.h"
#include "system/devices/device.h"
#include "workload/calls/operation.h"
#include "workload/graph/job.h"
#include "workload/training/options/offload.h"
#include "workload/training/spec/operators.h"
#include "workload/training/spec/software.h"

namespace orrery::experiment {

// Describes the cluster as far as jobs depend on it.
struct JobMachine {
  Architecture architecture = Architecture::kOther;  // of its devices, the oldest
  std::int64_t devices = 1;
  std::int64_t devices_per_node = 1;  // of `dims`, the first dimension is a node
  bool is_known = false;              // else all of this stands for a cluster that is wrong
  workload::HostMemory host{};        // of the first type of devices
  Bytes memory{};                     // of the type of devices that has least
  std::int64_t room = 1;              // devices that a placement leaves to ranks
  bool is_alone = true;               // no job beside this one
};

// Describes a matrix product that every rank computes once.
struct ProductCall {
  workload::Gemm gemm;                             // its precision is the workload's
  std::optional<workload::SoftwareSpec> software;  // none: kernels as micro-benchmarks run them
};

struct CallSource {
  std::string name;                            // in results: "all_reduce", "dispatch", "product"
  workload::CallOperation operation{};         // that goes over the network; of a product none
  Bytes size{0};                               // as workload::CallSize says
  std::uint32_t ranks = 0;                     // that take part
  std::uint32_t ranks_per_node = 0;            // the first so many devices of each node; 0: all
  std::optional<TokenExchange> exchange = {};  // in place of the operation, where tokens go as copies
  std::optional<ProductCall> product = {};     // in place of the operation
  std::optional<UnevenShares> shares = {};     // of an all-to-all whose sizes differ; `size` is the mean
};

// Describes a kind of such jobs, by the key of `workload` that makes it one.
struct CallKind {
  std::string_view key;   // "collective"
  std::string_view what;  // "a collective"
  std::string_view verb;  // "call it"
  CallSource (*read)(Section& workload, const JobMachine& machine);
};
std::span<const CallKind> call_kinds();
// Finds the kind by its key; null if there is none.
const CallKind* call_kind_named(std::string_view key);

// Refuses keys that another kind of job than `replayed`, the job's own key, has in `workload`.
void refuse_call_keys(Section& workload, std::string_view replayed);

// "all_reduce of 1.000 GiB", "product 4096 x 4096 x 4096 bf16".
std::string call_text(const CallSource& call);

// Makes the job of an operation that goes over the network.
workload::Job job_of(const CallSource& call);

// Returns the time of a product on each type of devices. InputError, without a place, if a device has no rate for its
// precision.
std::vector<Duration> product_times(const ProductCall& product, std::span<const system::DeviceSpec> devices);
// Makes the job of a product: `times` by type of device, `types` by rank.
workload::Job product_job(std::span<const Duration> times, std::span<const std::uint32_t> types);

}  // namespace orrery::experiment
