// SPDX-License-Identifier: MIT
// Program of a rank: the nodes of its trace as ASTRA-sim understands them. Programs that are the same but for whom they
// talk to are held once: peers and groups are numbered within a program in the order of their first use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "astra/input/inputs.h"
#include "astra/input/ticks.h"

namespace orrery::astra {

enum class NodeKind : std::uint8_t { kCompute, kCollective, kSend, kReceive, kMemory, kInvalid };
std::string_view name_of(NodeKind kind);

struct Node {
  std::uint64_t id = 0;
  NodeKind kind = NodeKind::kCompute;
  CommKind comm = CommKind::kAllReduce;
  bool on_host = false;          // is_cpu_op
  std::uint32_t dimensions = 0;  // a collective's involved_dim, a bit each
  std::uint32_t tag = 0;         // of a message
  std::uint32_t slot = 0;        // of a message: its peer; of a collective: its group
  std::uint64_t bytes = 0;       // comm_size, or tensor_size of memory
  Ticks duration = 1;            // of what is not simulated
  bool skips = false;            // no work: it is over when it is issued
  std::uint32_t custom = 0;      // 1 + the number of a custom schedule of this node; 0: none

  bool operator==(const Node&) const = default;
};

struct Program {
  std::vector<Node> nodes;                  // ascending by id
  std::vector<std::uint32_t> children;      // of all nodes, one after another
  std::vector<std::uint32_t> child_begin;   // of each node, and the end
  std::vector<std::uint32_t> parent_count;  // of each node

  std::span<const std::uint32_t> children_of(std::uint32_t node) const {
    return std::span(children).subspan(child_begin[node], child_begin[node + 1] - child_begin[node]);
  }
  bool operator==(const Program&) const = default;
};

// A program with the rank's own peers and groups, each by the number that a slot has.
struct RankProgram {
  std::uint32_t program = 0;
  std::vector<std::uint32_t> peers;   // ranks
  std::vector<std::uint64_t> groups;  // ids; 0: all ranks
};

struct Job {
  std::vector<Program> programs;
  std::vector<RankProgram> ranks;
  std::vector<std::string> custom_prefixes;  // of nodes
};

// Reads the traces of all ranks of the network. Warnings go to those of `inputs`. InputError naming file and node.
Job read_job(Inputs& inputs);

// The file of a rank.
std::string trace_of(const std::string& prefix, std::uint32_t rank);

// A rank's part of a custom schedule: sends, receives and computations, in which `peers` are positions in the group.
Program read_custom(const std::string& file, std::uint32_t position, std::vector<std::uint32_t>& peers);

}  // namespace orrery::astra
