// SPDX-License-Identifier: MIT
#include "workload/traces/node.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/error.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kNoPeerHint =
    "PyTorch's trace converter does not write the peers of sends and receives; such a trace cannot be matched";
constexpr std::string_view kNoProcessGroupsHint = "give the groups in a file: workload.chakra.groups, or --groups";
constexpr std::string_view kMissingSizeHint = "re-export the trace with a converter that writes comm_size";

struct ChakraCollective {
  chakra::CollectiveCommType type;
  CollectiveKind kind;
};

constexpr std::array<ChakraCollective, 10> kCollectives = {{
    {chakra::ALL_REDUCE, CollectiveKind::kAllReduce},
    {chakra::REDUCE, CollectiveKind::kReduce},
    {chakra::ALL_GATHER, CollectiveKind::kAllGather},
    {chakra::GATHER, CollectiveKind::kGather},
    {chakra::SCATTER, CollectiveKind::kScatter},
    {chakra::BROADCAST, CollectiveKind::kBroadcast},
    {chakra::ALL_TO_ALL, CollectiveKind::kAllToAll},
    {chakra::REDUCE_SCATTER, CollectiveKind::kReduceScatter},
    {chakra::REDUCE_SCATTER_BLOCK, CollectiveKind::kReduceScatter},
    {chakra::BARRIER, CollectiveKind::kBarrier},
}};

bool is_nccl_kernel(std::string_view name) {
  return name.find("ncclKernel") != std::string_view::npos || name.find("ncclDevKernel") != std::string_view::npos;
}

// Errors and doubts about one node.
class NodeFindings {
 public:
  NodeFindings(const NodeView& node, Findings& findings) : node_(node), findings_(findings) {}

  const std::string& file() const { return findings_.file(); }
  std::string name() const { return describe(node_); }
  bool has_errors() const { return has_errors_; }

  void error(std::string_view what, const std::string& detail = {}, std::string_view hint = {}) {
    findings_.error(what, detail.empty() ? name() : fmt::format("{} ({})", name(), detail), hint);
    has_errors_ = true;
  }

  void warning(std::string_view what, std::string_view hint = {}) { findings_.warning(what, name(), hint); }

 private:
  const NodeView& node_;
  Findings& findings_;
  bool has_errors_ = false;
};

// Reads one node. Every rule reports what is wrong by itself and leaves `result_` usable.
class NodeReader {
 public:
  NodeReader(const NodeView& node, Findings& findings)
      : node_(node), attributes_(findings.file(), node), findings_(node, findings) {}

  TraceNode read() {
    read_duration();
    is_host_ = attributes_.flag("is_cpu_op").value_or(false);
    if (!is_host_) result_.stream = attributes_.integer("stream");
    if (is_host_) result_.began = attributes_.integer("ts");
    read_work();
    return std::move(result_);
  }

 private:
  void read_work() {
    switch (node_.type) {
      case chakra::INVALID_NODE:
        return read_untimed("INVALID");
      case chakra::METADATA_NODE:
        return read_metadata();
      case chakra::MEM_LOAD_NODE:
        return read_memory(NodeKind::kMemoryLoad);
      case chakra::MEM_STORE_NODE:
        return read_memory(NodeKind::kMemoryStore);
      case chakra::COMP_NODE:
        return read_compute();
      case chakra::COMM_SEND_NODE:
        return read_transfer(NodeKind::kSend);
      case chakra::COMM_RECV_NODE:
        return read_transfer(NodeKind::kReceive);
      case chakra::COMM_COLL_NODE:
        return read_collective();
      default:
        findings_.error("unknown node type", fmt::format("type {}", node_.type),
                        "types 0 (INVALID) to 7 (COMM_COLL) are known");
    }
  }

  void read_duration() {
    constexpr std::int64_t kMicrosecond = 1'000'000;
    const std::uint64_t micros = node_.duration_micros;
    if (micros > static_cast<std::uint64_t>(Duration::max().count() / kMicrosecond))
      return findings_.error("duration beyond the 106 days that can be simulated", fmt::format("{} us", micros));
    const std::int64_t whole = static_cast<std::int64_t>(micros) * kMicrosecond;
    if (whole > 0) result_.work.duration = Duration(whole);
    const std::optional<std::int64_t> picos = attributes_.integer(kDurationPicos);
    if (!picos) return;
    says_no_time_ = *picos == 0 && whole == 0;
    if (says_no_time_) return;
    // They differ by more than a microsecond, or only one is zero: some tool has changed one of them.
    if (*picos <= 0 || std::max(*picos, whole) - std::min(*picos, whole) > kMicrosecond)
      findings_.warning("duration_picos is not what duration_micros says; duration_micros counts");
    else
      result_.work.duration = Duration(*picos);
  }

  // An attribute that counts something: not negative, and not beyond what any job could mean.
  std::optional<std::int64_t> amount(std::string_view attribute, std::int64_t largest = kMostNodeBytes.count()) {
    const std::optional<std::int64_t> value = attributes_.integer(attribute);
    if (!value || (*value >= 0 && *value <= largest)) return value;
    findings_.error(
        *value < 0 ? fmt::format("negative {}", attribute) : fmt::format("{} beyond {}", attribute, largest),
        std::to_string(*value));
    return 0;
  }

  void read_untimed(std::string_view type) {
    result_.work.duration.reset();
    findings_.warning(fmt::format("nodes of type {} take no time", type));
  }

  void read_metadata() {
    result_.work.duration.reset();
    if (!is_process_group_node(node_.name)) return read_untimed("METADATA");
    // A marker whose list some tool has dropped says nothing; calls on its groups are then errors of their own.
    result_.process_groups = read_process_groups({findings_.file(), 0, 0}, findings_.name(), node_.input_values);
    if (result_.process_groups.empty())
      findings_.warning("nodes that declare process groups list none in their inputs", kNoProcessGroupsHint);
  }

  // Free, if nothing says how long it takes.
  void set_timed(NodeKind kind) {
    result_.work.kind = kind;
    const GraphNode& work = result_.work;
    const bool on_host = kind == NodeKind::kHostCompute;  // FLOPs and bytes say nothing about a host
    if (work.duration || (!on_host && (work.flops > Flops() || work.bytes > Bytes()))) return;
    result_.work.kind = NodeKind::kNoOp;
    if (findings_.has_errors() || says_no_time_) return;
    findings_.warning(on_host ? "host nodes without a duration take no time"
                              : "nodes with neither a duration nor FLOPs nor bytes take no time");
  }

  void read_memory(NodeKind kind) {
    result_.work.bytes = Bytes(amount("tensor_size").value_or(0));
    set_timed(kind);
  }

  void read_compute() {
    result_.work.flops = Flops(amount("num_ops", std::numeric_limits<std::int64_t>::max()).value_or(0));
    result_.work.bytes = Bytes(amount("tensor_size").value_or(0));
    if (!is_host_ && is_nccl_kernel(node_.name))
      findings_.warning("NCCL kernels typed COMP are simulated as compute, without their traffic");
    set_timed(is_host_ ? NodeKind::kHostCompute : NodeKind::kCompute);
  }

  // The CPU side of a communication call. It moves nothing itself.
  void read_host_call(bool has_traffic) {
    findings_.warning(
        has_traffic ? "communication nodes with is_cpu_op run as host compute: a CPU call that launches the kernel; "
                      "their comm_size is ignored, since the traffic is the GPU node's"
                    : "communication nodes without traffic run as host compute: a CPU call that launches the kernel; "
                      "its traffic is the GPU node's");
    result_.work.kind = result_.work.duration ? NodeKind::kHostCompute : NodeKind::kNoOp;
  }

  void read_priority() {
    result_.work.priority =
        static_cast<std::uint32_t>(amount("comm_priority", std::numeric_limits<std::uint32_t>::max()).value_or(0));
  }

  void read_collective() {
    const bool has_type = attributes_.has("comm_type");
    const bool has_size = attributes_.has("comm_size");
    const bool says_device = attributes_.has("is_cpu_op") && !is_host_;
    if (is_host_ || (!says_device && !has_type && !has_size)) return read_host_call(has_type && has_size);

    result_.work.kind = NodeKind::kCollective;
    read_collective_kind();
    read_collective_size();
    read_priority();
    std::optional<std::string> group = attributes_.label("pg_name");
    if (!group) group = attributes_.label("comm_group");
    result_.communicator = group.value_or("");
    result_.description = attributes_.text("pg_desc").value_or("");
    result_.involved = attributes_.flags("involved_dim");
    // Some converters always write the dimensions, without knowing how many there will be; all of them means the same
    // as none.
    if (result_.involved && std::ranges::find(*result_.involved, false) == result_.involved->end())
      result_.involved.reset();
    if (has_root(result_.work.collective)) read_root();
  }

  void read_collective_kind() {
    const std::optional<std::int64_t> type = attributes_.integer("comm_type");
    if (!type) return findings_.error("collective without comm_type");
    const auto known = std::ranges::find(kCollectives, *type, &ChakraCollective::type);
    if (known == kCollectives.end())
      return findings_.error("collective with an unknown comm_type", std::to_string(*type),
                             "0 (ALL_REDUCE) to 9 (BARRIER) are known");
    result_.work.collective = known->kind;
  }

  void read_collective_size() {
    const std::optional<std::int64_t> size = amount("comm_size");
    const bool is_barrier = result_.work.collective == CollectiveKind::kBarrier;
    if (!size && !is_barrier) return findings_.error("collective without comm_size", {}, kMissingSizeHint);
    result_.work.bytes = Bytes(size.value_or(0));
    if (size == 0 && !is_barrier && !findings_.has_errors()) findings_.warning("collectives of zero bytes");
  }

  // Chakra itself has no root; producers that write one call it by one of these names.
  void read_root() {
    for (const std::string_view attribute : {"root", "root_rank", "src_rank"}) {
      const std::optional<std::int64_t> root = attributes_.integer(attribute);
      if (!root) continue;
      if (*root < -1)
        findings_.error(fmt::format("negative {}", attribute), std::to_string(*root));
      else
        result_.root = *root;
      return;
    }
  }

  void read_transfer(NodeKind kind) {
    const bool is_send = kind == NodeKind::kSend;
    const std::string_view peer = is_send ? "comm_dst" : "comm_src";
    const bool has_peer = attributes_.has(peer);
    if (is_host_ && !has_peer) return read_host_call(false);

    result_.work.kind = kind;
    if (has_peer)
      result_.peer = attributes_.integer(peer).value_or(-1);
    else
      findings_.error(fmt::format("{} without {}", name_of(kind), peer), {}, kNoPeerHint);
    result_.own_rank = attributes_.integer(is_send ? "comm_src" : "comm_dst");
    result_.tag = attributes_.integer("comm_tag").value_or(0);
    const std::optional<std::int64_t> size = amount("comm_size");
    if (size)
      result_.work.bytes = Bytes(*size);
    else
      findings_.error(fmt::format("{} without comm_size", name_of(kind)), {}, kMissingSizeHint);
    read_priority();
  }

  const NodeView& node_;
  ChakraAttributes attributes_;
  NodeFindings findings_;
  TraceNode result_;
  bool is_host_ = false;
  bool says_no_time_ = false;
};

}  // namespace

chakra::CollectiveCommType chakra_type_of(CollectiveKind kind) {
  const auto known = std::ranges::find(kCollectives, kind, &ChakraCollective::kind);
  ORRERY_ASSERT(known != kCollectives.end());
  return known->type;
}

TraceNode read_trace_node(const NodeView& node, Findings& findings) {
  try {
    return NodeReader(node, findings).read();
  } catch (const InputError& error) {
    findings.take(error);
    return {};
  }
}

}  // namespace orrery::workload
