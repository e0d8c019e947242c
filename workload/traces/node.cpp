#include "workload/traces/node.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/traces/duration_attribute.h"

namespace orrery {
namespace {

constexpr std::string_view kNoPeerHint =
    "PyTorch's trace converter does not write the peers of sends and receives; such a trace cannot be matched";
constexpr std::string_view kNoProcessGroupsHint = "give the groups in a file: workload.chakra.groups, or --groups";
constexpr std::string_view kMissingSizeHint = "re-export the trace with a converter that writes comm_size";

std::optional<CollectiveKind> collective_kind_of(std::int64_t comm_type) {
  switch (comm_type) {
    case chakra::ALL_REDUCE:
      return CollectiveKind::kAllReduce;
    case chakra::REDUCE:
      return CollectiveKind::kReduce;
    case chakra::ALL_GATHER:
      return CollectiveKind::kAllGather;
    case chakra::GATHER:
      return CollectiveKind::kGather;
    case chakra::SCATTER:
      return CollectiveKind::kScatter;
    case chakra::BROADCAST:
      return CollectiveKind::kBroadcast;
    case chakra::ALL_TO_ALL:
      return CollectiveKind::kAllToAll;
    case chakra::REDUCE_SCATTER:
    case chakra::REDUCE_SCATTER_BLOCK:
      return CollectiveKind::kReduceScatter;
    case chakra::BARRIER:
      return CollectiveKind::kBarrier;
    default:
      return std::nullopt;
  }
}

bool is_nccl_kernel(std::string_view name) {
  return name.find("ncclKernel") != std::string_view::npos || name.find("ncclDevKernel") != std::string_view::npos;
}

// Reads one node. Every rule reports what is wrong by itself and leaves `result_` usable.
class NodeReader {
 public:
  NodeReader(const chakra::Node& node, Findings& findings)
      : node_(node), attributes_(findings.file(), node), findings_(findings) {}

  TraceNode read() {
    read_duration();
    is_host_ = attributes_.flag("is_cpu_op").value_or(false);
    if (!is_host_) result_.stream = attributes_.integer("stream");
    switch (static_cast<int>(node_.type())) {
      case chakra::INVALID_NODE:
        read_untimed("INVALID");
        break;
      case chakra::METADATA_NODE:
        read_metadata();
        break;
      case chakra::MEM_LOAD_NODE:
        read_memory(NodeKind::kMemoryLoad);
        break;
      case chakra::MEM_STORE_NODE:
        read_memory(NodeKind::kMemoryStore);
        break;
      case chakra::COMP_NODE:
        read_compute();
        break;
      case chakra::COMM_SEND_NODE:
        read_transfer(NodeKind::kSend);
        break;
      case chakra::COMM_RECV_NODE:
        read_transfer(NodeKind::kReceive);
        break;
      case chakra::COMM_COLL_NODE:
        read_collective();
        break;
      default:
        fail("unknown node type", fmt::format("type {}", static_cast<int>(node_.type())),
             "types 0 (INVALID) to 7 (COMM_COLL) are known");
    }
    return std::move(result_);
  }

 private:
  std::string name() const { return describe(node_); }

  void fail(std::string_view what, const std::string& detail, std::string_view hint = {}) {
    findings_.error(what, detail.empty() ? name() : fmt::format("{} ({})", name(), detail), hint);
    failed_ = true;
  }

  void read_duration() {
    constexpr std::uint64_t kPerMicrosecond = 1'000'000;
    constexpr std::uint64_t kLongest =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / kPerMicrosecond;
    const std::uint64_t micros = node_.duration_micros();
    if (micros > kLongest) {
      fail("duration beyond the 106 days that can be simulated", fmt::format("{} us", micros));
    } else {
      std::optional<Duration> whole;
      if (micros > 0) whole = Duration(static_cast<std::int64_t>(micros * kPerMicrosecond));
      const TraceDuration exact = orrery::read_duration(whole, attributes_);
      result_.work.duration = exact.duration;
      says_no_time_ = exact.says_none;
      if (exact.disagree)
        findings_.warning("duration_picos is not what duration_micros says; duration_micros counts", name());
    }
  }

  // An attribute that counts something: not negative, and not beyond what any job could mean.
  std::optional<std::int64_t> amount(std::string_view attribute, std::int64_t largest = kMostNodeBytes.count()) {
    const std::optional<std::int64_t> value = attributes_.integer(attribute);
    if (!value) return std::nullopt;
    if (*value < 0) {
      fail(fmt::format("negative {}", attribute), std::to_string(*value));
      return 0;
    }
    if (*value > largest) {
      fail(fmt::format("{} beyond {}", attribute, largest), std::to_string(*value));
      return 0;
    }
    return value;
  }

  void read_untimed(std::string_view type) {
    result_.work.duration.reset();
    findings_.warning(fmt::format("nodes of type {} take no time", type), name());
  }

  void read_metadata() {
    result_.work.duration.reset();
    if (!is_process_group_node(node_.name())) return read_untimed("METADATA");
    // A marker whose list some tool has dropped says nothing; calls on its groups are then errors of their own.
    result_.process_groups = read_process_groups({findings_.file(), 0, 0}, name(), node_.inputs().values());
    if (result_.process_groups.empty())
      findings_.warning("nodes that declare process groups list none in their inputs", name(), kNoProcessGroupsHint);
  }

  // Free, if nothing says how long it takes.
  void set_timed(NodeKind kind) {
    result_.work.kind = kind;
    const GraphNode& work = result_.work;
    const bool on_host = kind == NodeKind::kHostCompute;  // FLOPs and bytes say nothing about a host
    if (work.duration || (!on_host && (work.flops > Flops() || work.bytes > Bytes()))) return;
    result_.work.kind = NodeKind::kNoOp;
    if (failed_ || says_no_time_) return;
    findings_.warning(on_host ? "host nodes without a duration take no time"
                              : "nodes with neither a duration nor FLOPs nor bytes take no time",
                      name());
  }

  void read_memory(NodeKind kind) {
    result_.work.bytes = Bytes(amount("tensor_size").value_or(0));
    set_timed(kind);
  }

  void read_compute() {
    result_.work.flops = Flops(amount("num_ops", std::numeric_limits<std::int64_t>::max()).value_or(0));
    result_.work.bytes = Bytes(amount("tensor_size").value_or(0));
    if (!is_host_ && is_nccl_kernel(node_.name()))
      findings_.warning("NCCL kernels typed COMP are simulated as compute, without their traffic", name());
    set_timed(is_host_ ? NodeKind::kHostCompute : NodeKind::kCompute);
  }

  // The CPU side of a communication call. It moves nothing itself.
  void read_host_call(bool has_traffic) {
    findings_.warning(
        has_traffic ? "communication nodes with is_cpu_op run as host compute: a CPU call that launches the kernel; "
                      "their comm_size is ignored, since the traffic is the GPU node's"
                    : "communication nodes without traffic run as host compute: a CPU call that launches the kernel; "
                      "its traffic is the GPU node's",
        name());
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
    // Of converters that always write it; they do not know how many dimensions there will be.
    if (result_.involved && std::ranges::find(*result_.involved, false) == result_.involved->end())
      result_.involved.reset();
    if (has_root(result_.work.collective)) read_root();
  }

  void read_collective_kind() {
    const std::optional<std::int64_t> type = attributes_.integer("comm_type");
    if (!type) return fail("collective without comm_type", {});
    const std::optional<CollectiveKind> kind = collective_kind_of(*type);
    if (!kind)
      return fail("collective with an unknown comm_type", std::to_string(*type),
                  "0 (ALL_REDUCE) to 9 (BARRIER) are known");
    result_.work.collective = *kind;
  }

  void read_collective_size() {
    const std::optional<std::int64_t> size = amount("comm_size");
    const bool is_barrier = result_.work.collective == CollectiveKind::kBarrier;
    if (!size && !is_barrier) return fail("collective without comm_size", {}, kMissingSizeHint);
    result_.work.bytes = Bytes(size.value_or(0));
    if (size == 0 && !is_barrier && !failed_) findings_.warning("collectives of zero bytes", name());
  }

  // Chakra itself has no root; producers that write one call it by one of these names.
  void read_root() {
    for (const std::string_view attribute : {"root", "root_rank", "src_rank"}) {
      const std::optional<std::int64_t> root = attributes_.integer(attribute);
      if (!root) continue;
      if (*root < -1)
        fail(fmt::format("negative {}", attribute), std::to_string(*root));
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
      fail(fmt::format("{} without {}", name_of(kind), peer), {}, kNoPeerHint);
    result_.own_rank = attributes_.integer(is_send ? "comm_src" : "comm_dst");
    result_.tag = attributes_.integer("comm_tag").value_or(0);
    const std::optional<std::int64_t> size = amount("comm_size");
    if (size)
      result_.work.bytes = Bytes(*size);
    else
      fail(fmt::format("{} without comm_size", name_of(kind)), {}, kMissingSizeHint);
    read_priority();
  }

  const chakra::Node& node_;
  ChakraAttributes attributes_;
  Findings& findings_;
  TraceNode result_;
  bool is_host_ = false;
  bool says_no_time_ = false;
  bool failed_ = false;
};

}  // namespace

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce || kind == CollectiveKind::kGather ||
         kind == CollectiveKind::kScatter;
}

TraceNode read_trace_node(const chakra::Node& node, Findings& findings) {
  try {
    return NodeReader(node, findings).read();
  } catch (const InputError& error) {
    findings.take(error);
    return {};
  }
}

}  // namespace orrery
