// SPDX-License-Identifier: MIT
#include "study/benchmark/operation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"
#include "workload/graph/collective_job.h"

namespace orrery::study {
namespace {

constexpr std::int64_t kFloat = 4;  // bytes

constexpr std::array kOperations = {
    BenchmarkOperation{"all_gather", CollectiveKind::kAllGather, BenchmarkSize::kShares},
    BenchmarkOperation{"all_reduce", CollectiveKind::kAllReduce, BenchmarkSize::kBuffer},
    BenchmarkOperation{"all_to_all", CollectiveKind::kAllToAll, BenchmarkSize::kShares},
    BenchmarkOperation{"barrier", CollectiveKind::kBarrier, BenchmarkSize::kNone},
    BenchmarkOperation{"broadcast", CollectiveKind::kBroadcast, BenchmarkSize::kBuffer},
    BenchmarkOperation{"gather", CollectiveKind::kGather, BenchmarkSize::kShares},
    BenchmarkOperation{"reduce", CollectiveKind::kReduce, BenchmarkSize::kBuffer},
    BenchmarkOperation{"reduce_scatter", CollectiveKind::kReduceScatter, BenchmarkSize::kShares},
    BenchmarkOperation{"scatter", CollectiveKind::kScatter, BenchmarkSize::kShares},
    BenchmarkOperation{"sendrecv", std::nullopt, BenchmarkSize::kBuffer},
};
static_assert(std::ranges::is_sorted(kOperations, {}, &BenchmarkOperation::name));

char plain(char c) { return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

}  // namespace

std::span<const BenchmarkOperation> benchmark_operations() { return kOperations; }

BenchmarkOperation benchmark_operation_named(std::string_view name, std::string_view option) {
  std::string wanted(name);
  std::ranges::transform(wanted, wanted.begin(), plain);
  const auto found = std::ranges::find(kOperations, wanted, &BenchmarkOperation::name);
  if (found != kOperations.end()) return *found;
  std::vector<std::string> names;
  for (const BenchmarkOperation& operation : kOperations) names.emplace_back(operation.name);
  throw InputError({std::string(option)}, fmt::format("unknown operation '{}'", printable(name, 40)),
                   suggestion(wanted, names));
}

double bus_factor(const BenchmarkOperation& operation, std::uint32_t ranks) {
  const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  if (operation.kind == CollectiveKind::kAllReduce) return 2 * others;
  return operation.size == BenchmarkSize::kShares ? others : 1;
}

std::int64_t float_count(const BenchmarkOperation& operation, Bytes size, std::uint32_t ranks) {
  const std::int64_t parts = operation.size == BenchmarkSize::kShares ? std::int64_t{ranks} : 1;
  return ceil_div(size, parts * kFloat).count();
}

Bytes input_of_rank(const BenchmarkOperation& operation, Bytes size, std::uint32_t ranks) {
  const bool is_share = operation.kind == CollectiveKind::kAllGather || operation.kind == CollectiveKind::kGather;
  return is_share ? ceil_div(size, ranks) : size;
}

workload::Job benchmark_job(const BenchmarkOperation& operation, Bytes size, std::uint32_t ranks) {
  if (!operation.kind) return workload::neighbour_job(size, ranks);
  return workload::collective_job(*operation.kind, input_of_rank(operation, size, ranks), ranks);
}

}  // namespace orrery::study
