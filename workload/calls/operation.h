// SPDX-License-Identifier: MIT
// The operations that are called by themselves, as nccl-tests does, and what its tables say about them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/collective_kind.h"
#include "core/units.h"
#include "workload/graph/job.h"

namespace orrery::workload {

// Meaning of the size in a table's row.
enum class CallSize : std::uint8_t {
  kBuffer,  // the buffer of every rank (sendrecv: one message)
  // A share per rank: the result of an all-gather or a gather, the input of a reduce-scatter or a scatter, the buffer
  // of an all-to-all.
  kShares,
  kNone,  // a barrier carries no data: its row has the size 0
};

struct CallOperation {
  std::string_view name;               // "all_reduce", "sendrecv"
  std::optional<CollectiveKind> kind;  // nothing: every rank sends to the next one and receives
  CallSize size = CallSize::kBuffer;
};

// In the order of their names.
std::span<const CallOperation> call_operations();

// Case is ignored, hyphen and underscore are the same. InputError, which names `option`, where there is none.
CallOperation call_operation_named(std::string_view name, std::string_view option);

// Bus over algorithm bandwidth: all_reduce 2(n-1)/n; where every rank has a share, (n-1)/n; others 1.
double bus_factor(const CallOperation& operation, std::uint32_t ranks);

// Size of a call by nccl-tests' count, whose rank has an input of `bytes`: Request::bytes.
Bytes call_size(CollectiveKind kind, Bytes bytes, std::uint32_t ranks);
// The operation of a kind; every kind has one.
const CallOperation& call_operation(CollectiveKind kind);

// Elements of 4 bytes, rounded up: of the buffer, or of a rank's share.
std::int64_t float_count(const CallOperation& operation, Bytes size, std::uint32_t ranks);

// The input buffer of a rank, as Request::bytes, for a row of `size`.
Bytes input_of_rank(const CallOperation& operation, Bytes size, std::uint32_t ranks);

// The operation once, on all of at least two ranks. A share is ceil(size / ranks) bytes on every rank.
Job call_job(const CallOperation& operation, Bytes size, std::uint32_t ranks);

}  // namespace orrery::workload
