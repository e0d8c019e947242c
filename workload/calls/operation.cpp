// SPDX-License-Identifier: MIT
#include "workload/calls/operation.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"
#include "workload/graph/collective_job.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kFloat = 4;  // bytes

constexpr std::array kOperations = {
    CallOperation{"all_gather", CollectiveKind::kAllGather, CallSize::kShares},
    CallOperation{"all_reduce", CollectiveKind::kAllReduce, CallSize::kBuffer},
    CallOperation{"all_to_all", CollectiveKind::kAllToAll, CallSize::kShares},
    CallOperation{"barrier", CollectiveKind::kBarrier, CallSize::kNone},
    CallOperation{"broadcast", CollectiveKind::kBroadcast, CallSize::kBuffer},
    CallOperation{"gather", CollectiveKind::kGather, CallSize::kShares},
    CallOperation{"reduce", CollectiveKind::kReduce, CallSize::kBuffer},
    CallOperation{"reduce_scatter", CollectiveKind::kReduceScatter, CallSize::kShares},
    CallOperation{"scatter", CollectiveKind::kScatter, CallSize::kShares},
    CallOperation{"sendrecv", std::nullopt, CallSize::kBuffer},
};
static_assert(std::ranges::is_sorted(kOperations, {}, &CallOperation::name));

// "allreduce" of all_reduce, AllReduce, ncclAllReduce and all_reduce_perf, as libraries and nccl-tests have it.
std::string letters_of(std::string_view name) {
  std::string letters = plain_name(name);
  for (const std::string_view library : {"nccl", "rccl", "hccl", "mpi"})
    if (letters.starts_with(library)) letters.erase(0, library.size());
  constexpr std::string_view kTest = "perf";
  if (letters.ends_with(kTest)) letters.resize(letters.size() - kTest.size());
  return letters;
}

}  // namespace

std::span<const CallOperation> call_operations() { return kOperations; }

CallOperation call_operation_named(std::string_view name, std::string_view option) {
  const std::string wanted = letters_of(name);
  const auto found =
      std::ranges::find_if(kOperations, [&](const CallOperation& one) { return plain_name(one.name) == wanted; });
  if (found != kOperations.end()) return *found;
  std::vector<std::string> names;
  for (const CallOperation& operation : kOperations) names.emplace_back(operation.name);
  throw InputError({std::string(option)}, fmt::format("unknown operation '{}'", printable(name, 40)),
                   suggestion(wanted, names));
}

double bus_factor(const CallOperation& operation, std::uint32_t ranks) {
  const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  if (operation.kind == CollectiveKind::kAllReduce) return 2 * others;
  return operation.size == CallSize::kShares ? others : 1;
}

const CallOperation& call_operation(CollectiveKind kind) {
  return *std::ranges::find(kOperations, std::optional(kind), &CallOperation::kind);
}

Bytes call_size(CollectiveKind kind, Bytes bytes, std::uint32_t ranks) {
  const bool is_share = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kGather;
  return is_share ? bytes * std::int64_t{ranks} : bytes;
}

std::int64_t float_count(const CallOperation& operation, Bytes size, std::uint32_t ranks) {
  const std::int64_t parts = operation.size == CallSize::kShares ? std::int64_t{ranks} : 1;
  return ceil_div(size, parts * kFloat).count();
}

Bytes input_of_rank(const CallOperation& operation, Bytes size, std::uint32_t ranks) {
  const bool is_share = operation.kind == CollectiveKind::kAllGather || operation.kind == CollectiveKind::kGather;
  return is_share ? ceil_div(size, ranks) : size;
}

Job call_job(const CallOperation& operation, Bytes size, std::uint32_t ranks) {
  if (!operation.kind) return neighbour_job(size, ranks);
  return collective_job(*operation.kind, input_of_rank(operation, size, ranks), ranks);
}

}  // namespace orrery::workload
