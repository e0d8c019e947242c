// SPDX-License-Identifier: MIT
// The nodes of a Chakra file, read for speed: the fields that ASTRA-sim looks at, straight from the bytes. What does
// not read cleanly is left to workload/chakra, which says what is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::astra {

// An attribute that may be absent.
struct TraceNode {
  std::uint64_t id = 0;
  std::uint32_t type = 0;  // as in chakra.proto
  std::uint64_t duration_us = 0;
  std::vector<std::uint64_t> parents;
  bool on_host = false;
  bool has_inputs = false;  // the attributes `inputs` and `outputs`, of which memory is tracked
  bool has_outputs = false;
  std::optional<std::int64_t> num_ops, tensor_size, comm_type, comm_size, comm_src, comm_dst, comm_tag;
  std::string_view group;                       // pg_name
  std::optional<std::vector<bool>> dimensions;  // involved_dim
  std::string_view name;
};

// Views are of `bytes`, which must not be compressed. InputError naming `file` unless it is a whole trace of the
// current schema with at least one node.
void read_trace(const std::string& file, std::string_view bytes, std::vector<TraceNode>& nodes);

}  // namespace orrery::astra
