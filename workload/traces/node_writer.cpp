#include "workload/traces/node_writer.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/assert.h"
#include "core/utf8.h"
#include "workload/chakra/chakra.pb.h"
#include "workload/traces/duration_attribute.h"
#include "workload/traces/node.h"

namespace orrery {
namespace {

void append_varint(std::uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  bytes += static_cast<char>(value);
}

void append_frame(const google::protobuf::MessageLite& message, std::string& bytes) {
  append_varint(message.ByteSizeLong(), bytes);
  message.AppendToString(&bytes);
}

// proto3 strings are UTF-8; bytes that are none become U+FFFD.
std::string utf8_of(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0)
      result += "\xEF\xBF\xBD";
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

chakra::AttributeProto& attribute(chakra::Node& node, std::string_view name) {
  chakra::AttributeProto& result = *node.add_attr();
  result.set_name(name.data(), name.size());
  return result;
}

void add_int32(chakra::Node& node, std::string_view name, std::uint32_t value) {
  attribute(node, name).set_int32_val(static_cast<std::int32_t>(value));
}

// Of the width that other producers use, and of the next one where the value needs it.
void add_tag(chakra::Node& node, std::int64_t tag) {
  const bool narrow =
      tag >= std::numeric_limits<std::int32_t>::min() && tag <= std::numeric_limits<std::int32_t>::max();
  if (narrow)
    attribute(node, "comm_tag").set_int32_val(static_cast<std::int32_t>(tag));
  else
    attribute(node, "comm_tag").set_int64_val(tag);
}

chakra::NodeType type_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kNoOp:
    case NodeKind::kHostCompute:
    case NodeKind::kCompute:
      return chakra::COMP_NODE;
    case NodeKind::kMemoryLoad:
      return chakra::MEM_LOAD_NODE;
    case NodeKind::kMemoryStore:
      return chakra::MEM_STORE_NODE;
    case NodeKind::kCollective:
      return chakra::COMM_COLL_NODE;
    case NodeKind::kSend:
      return chakra::COMM_SEND_NODE;
    case NodeKind::kReceive:
      return chakra::COMM_RECV_NODE;
  }
  ORRERY_ASSERT(false);
}

chakra::CollectiveCommType type_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return chakra::ALL_REDUCE;
    case CollectiveKind::kReduce:
      return chakra::REDUCE;
    case CollectiveKind::kAllGather:
      return chakra::ALL_GATHER;
    case CollectiveKind::kGather:
      return chakra::GATHER;
    case CollectiveKind::kScatter:
      return chakra::SCATTER;
    case CollectiveKind::kBroadcast:
      return chakra::BROADCAST;
    case CollectiveKind::kAllToAll:
      return chakra::ALL_TO_ALL;
    case CollectiveKind::kReduceScatter:
      return chakra::REDUCE_SCATTER;
    case CollectiveKind::kBarrier:
      return chakra::BARRIER;
  }
  ORRERY_ASSERT(false);
}

// Decimal, above 0, without leading zeros, and an int: what ASTRA-sim reads a group's name as.
bool is_group_number(std::string_view name) {
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() && number > 0 && name.front() != '0';
}

// Ids in the order of the nodes, as a reader expects of them.
bool has_ascending_ids(const ExecutionGraph& graph, const NodeLabels& labels) {
  if (labels.size() < graph.size()) return false;
  for (std::uint32_t i = 1; i < graph.size(); ++i)
    if (labels.trace_id(NodeId(i - 1)) >= labels.trace_id(NodeId(i))) return false;
  return true;
}

void add_compute(const ExecutionGraph& graph, NodeId id, chakra::Node& node) {
  const Flops flops = graph.flops(id);
  const Bytes bytes = graph.bytes(id);
  if (flops == Flops() && bytes == Bytes()) return;
  attribute(node, "num_ops").set_int64_val(flops.count());
  attribute(node, "tensor_size").set_uint64_val(static_cast<std::uint64_t>(bytes.count()));
}

// No-ops, and those that a reader would take for them.
bool takes_no_time(const ExecutionGraph& graph, NodeId id) {
  switch (graph.kind(id)) {
    case NodeKind::kNoOp:
      return true;
    case NodeKind::kHostCompute:
      return !graph.duration(id);
    case NodeKind::kCompute:
    case NodeKind::kMemoryLoad:
    case NodeKind::kMemoryStore:
      return !graph.duration(id) && graph.flops(id) == Flops() && graph.bytes(id) == Bytes();
    default:
      return false;
  }
}

// All that does not depend on the rank.
void fill(const ExecutionGraph& graph, NodeId id, chakra::Node& node) {
  const NodeKind kind = graph.kind(id);
  node.set_type(type_of(kind));
  if (takes_no_time(graph, id))
    set_no_duration(node);
  else if (const std::optional<Duration> duration = graph.duration(id))
    set_duration(*duration, node);
  const bool on_host = kind == NodeKind::kNoOp || kind == NodeKind::kHostCompute;
  attribute(node, "is_cpu_op").set_bool_val(on_host);
  if (graph.stream(id) != 0) attribute(node, "stream").set_int64_val(graph.stream(id));
  if (on_host || kind == NodeKind::kCompute) return add_compute(graph, id, node);
  if (kind == NodeKind::kMemoryLoad || kind == NodeKind::kMemoryStore)
    return attribute(node, "tensor_size").set_uint64_val(static_cast<std::uint64_t>(graph.bytes(id).count()));
  if (kind == NodeKind::kCollective) attribute(node, "comm_type").set_int64_val(type_of(graph.collective_kind(id)));
  attribute(node, "comm_size").set_int64_val(graph.bytes(id).count());
  if (graph.priority(id) != 0) attribute(node, "comm_priority").set_uint32_val(graph.priority(id));
}

}  // namespace

CommunicatorNaming name_communicators(std::span<const Communicator> communicators) {
  CommunicatorNaming naming;
  std::set<std::string_view> numbers;
  for (std::size_t i = 1; i < communicators.size(); ++i)
    if (is_group_number(communicators[i].name)) numbers.insert(communicators[i].name);
  const bool keeps_names = numbers.size() + 1 >= communicators.size();
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    const std::string& name = communicators[i].name;
    naming.keys.push_back(i == 0 ? "" : keeps_names ? name : std::to_string(i));
    naming.descriptions.push_back(i == 0 || keeps_names ? "" : utf8_of(name));
  }
  return naming;
}

std::string chakra_metadata_frame(std::size_t ranks) {
  chakra::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  chakra::AttributeProto& schema = *metadata.add_attr();
  schema.set_name("schema");
  schema.set_string_val("orrery-chakra.0.0.4");
  chakra::AttributeProto& world = *metadata.add_attr();
  world.set_name(std::string(kWorldSize));
  world.set_int64_val(static_cast<std::int64_t>(ranks));
  std::string frame;
  append_frame(metadata, frame);
  return frame;
}

EncodedGraph::EncodedGraph(const ExecutionGraph& graph, const NodeLabels& labels) {
  const bool keeps_ids = has_ascending_ids(graph, labels);
  const auto trace_id = [&](NodeId id) { return keeps_ids ? labels.trace_id(id) : std::uint64_t{index_of(id)}; };

  std::vector<std::vector<NodeId>> before(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    for (const NodeId after : graph.successors(NodeId(i))) before[index_of(after)].push_back(NodeId(i));

  chakra::Node node;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const NodeId id{i};
    node.Clear();
    node.set_id(trace_id(id));
    if (i < labels.size()) node.set_name(utf8_of(labels.name(id)));
    for (const NodeId earlier : before[i]) node.add_data_deps(trace_id(earlier));
    fill(graph, id, node);
    const NodeKind kind = graph.kind(id);
    if (kind != NodeKind::kCollective && kind != NodeKind::kSend && kind != NodeKind::kReceive) {
      append_frame(node, bytes_);
      continue;
    }
    const std::size_t begin = bytes_.size();
    node.AppendToString(&bytes_);
    open_.push_back({id, begin, bytes_.size()});
  }
}

// Messages merge when their bytes stand one behind the other, and lists grow.
void EncodedGraph::close(const OpenNode& open, const Job& job, RankId rank, const CommunicatorNaming& naming,
                         std::string& frame) const {
  const ExecutionGraph& graph = job.graph(rank);
  const RankBinding& binding = job.ranks[index_of(rank)];
  chakra::Node rest;
  if (graph.kind(open.node) == NodeKind::kCollective) {
    const GroupId group = job.communicator(rank, open.node);
    if (group != GroupId(0)) attribute(rest, "pg_name").set_string_val(naming.keys[index_of(group)]);
    const std::string& description = naming.descriptions[index_of(group)];
    if (!description.empty()) attribute(rest, "pg_desc").set_string_val(description);
    if (const auto& involved = job.communicators[index_of(group)].involved) {
      auto& list = *attribute(rest, "involved_dim").mutable_bool_list();
      for (const bool over : *involved) list.add_values(over);
    }
    const std::int64_t root = binding.roots.empty() ? -1 : binding.roots[graph.collective_index(open.node)];
    if (root >= 0 && has_root(graph.collective_kind(open.node))) attribute(rest, "root").set_int64_val(root);
  } else {
    const bool is_send = graph.kind(open.node) == NodeKind::kSend;
    const std::uint32_t peer = index_of(job.peer(rank, open.node));
    add_int32(rest, "comm_src", is_send ? index_of(rank) : peer);
    add_int32(rest, "comm_dst", is_send ? peer : index_of(rank));
    add_tag(rest, job.tag(rank, open.node));
  }
  frame.clear();
  append_varint(open.end - open.begin + rest.ByteSizeLong(), frame);
  frame.append(bytes_, open.begin, open.end - open.begin);
  rest.AppendToString(&frame);
}

}  // namespace orrery
