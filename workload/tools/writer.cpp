// SPDX-License-Identifier: MIT
#include "workload/tools/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/folder_lock.h"
#include "core/files/json.h"
#include "core/files/output_file.h"
#include "core/files/read_file.h"
#include "core/utf8.h"
#include "workload/chakra/chakra.pb.h"
#include "workload/traces/files.h"
#include "workload/traces/node.h"
#include "workload/traces/roles.h"

namespace orrery::workload {
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

// Tags are written in the width that other producers use, or in the next one if the value needs it.
void add_tag(chakra::Node& node, std::int64_t tag) {
  chakra::AttributeProto& result = attribute(node, "comm_tag");
  if (std::in_range<std::int32_t>(tag))
    result.set_int32_val(static_cast<std::int32_t>(tag));
  else
    result.set_int64_val(tag);
}

// Types of nodes by NodeKind.
constexpr std::array<chakra::NodeType, kNodeKindCount> kTypes = {
    chakra::COMP_NODE,      chakra::COMP_NODE,      chakra::COMP_NODE,      chakra::MEM_LOAD_NODE,
    chakra::MEM_STORE_NODE, chakra::COMM_COLL_NODE, chakra::COMM_SEND_NODE, chakra::COMM_RECV_NODE,
    chakra::MEM_STORE_NODE, chakra::MEM_LOAD_NODE};

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

// Rounded to the nearest microsecond, but never to zero; the exact figure besides where that is another one.
void set_duration(Duration duration, chakra::Node& node) {
  constexpr std::int64_t kMicrosecond = 1'000'000;
  const std::int64_t picos = duration.count();
  const std::int64_t nearest = picos / kMicrosecond + (picos % kMicrosecond >= kMicrosecond / 2 ? 1 : 0);
  const std::int64_t micros = std::clamp<std::int64_t>(nearest, 1, Duration::max().count() / kMicrosecond);
  node.set_duration_micros(static_cast<std::uint64_t>(micros));
  if (micros * kMicrosecond != picos) attribute(node, kDurationPicos).set_int64_val(picos);
}

// Free nodes, and those that a reader would take for them.
bool takes_no_time(const ExecutionGraph& graph, NodeId id) {
  const NodeKind kind = graph.kind(id);
  const bool has_work = kind != NodeKind::kHostCompute && (graph.flops(id) > Flops() || graph.bytes(id) > Bytes());
  return kind == NodeKind::kNoOp || (!is_communication(kind) && !graph.duration(id) && !has_work);
}

// All that does not depend on the rank.
void fill(const ExecutionGraph& graph, NodeId id, chakra::Node& node) {
  const NodeKind kind = graph.kind(id);
  node.set_type(kTypes[static_cast<std::size_t>(kind)]);
  if (takes_no_time(graph, id))
    attribute(node, kDurationPicos).set_int64_val(0);
  else if (const std::optional<Duration> duration = graph.duration(id))
    set_duration(*duration, node);
  const bool on_host = kind == NodeKind::kNoOp || kind == NodeKind::kHostCompute;
  attribute(node, "is_cpu_op").set_bool_val(on_host);
  if (graph.stream(id) != 0) attribute(node, "stream").set_int64_val(graph.stream(id));
  if (on_host || kind == NodeKind::kCompute) return add_compute(graph, id, node);
  if (kind == NodeKind::kMemoryLoad || kind == NodeKind::kMemoryStore || is_host_copy(kind))
    return attribute(node, "tensor_size").set_uint64_val(static_cast<std::uint64_t>(graph.bytes(id).count()));
  if (kind == NodeKind::kCollective)
    attribute(node, "comm_type").set_int64_val(chakra_type_of(graph.collective_kind(id)));
  attribute(node, "comm_size").set_int64_val(graph.bytes(id).count());
  if (graph.priority(id) != 0) attribute(node, "comm_priority").set_uint32_val(graph.priority(id));
}

// Names of a job's communicators in its files.
struct CommunicatorNaming {
  std::vector<std::string> keys;          // by GroupId: pg_name, decimal and above 0; "" for the world, which has none
  std::vector<std::string> descriptions;  // by GroupId: pg_desc; "" where it would say the same as the key
};

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

// The frame that every file of a job of `ranks` begins with.
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

// Encoding of all that ranks with this graph and these labels have in common. What differs between them stands last in
// a message, so that the rest is encoded once.
class EncodedGraph {
 public:
  EncodedGraph(const ExecutionGraph& graph, const NodeLabels& labels);

  // The file of `rank`, which has this graph.
  void write(OutputFile& file, const Job& job, RankId rank, const CommunicatorNaming& naming) const;
  // Bytes that write() writes.
  std::uint64_t size(const Job& job, RankId rank, const CommunicatorNaming& naming) const;

 private:
  // A communication node, whose message lacks the length in front and the attributes of the rank at the end.
  struct OpenNode {
    NodeId node;
    std::size_t begin = 0;  // of its message in bytes_
    std::size_t end = 0;
  };

  void close(const OpenNode& open, const Job& job, RankId rank, const CommunicatorNaming& naming,
             std::string& frame) const;

  std::string bytes_;
  std::vector<OpenNode> open_;
};

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
    if (!is_communication(graph.kind(id))) {
      append_frame(node, bytes_);
      continue;
    }
    const std::size_t begin = bytes_.size();
    node.AppendToString(&bytes_);
    open_.push_back({id, begin, bytes_.size()});
  }
}

void EncodedGraph::write(OutputFile& file, const Job& job, RankId rank, const CommunicatorNaming& naming) const {
  file.write(chakra_metadata_frame(job.ranks.size()));
  std::string frame;
  std::size_t at = 0;
  for (const OpenNode& open : open_) {
    file.write(std::string_view(bytes_).substr(at, open.begin - at));
    close(open, job, rank, naming, frame);
    file.write(frame);
    at = open.end;
  }
  file.write(std::string_view(bytes_).substr(at));
}

std::uint64_t EncodedGraph::size(const Job& job, RankId rank, const CommunicatorNaming& naming) const {
  std::uint64_t bytes = chakra_metadata_frame(job.ranks.size()).size() + bytes_.size();
  std::string frame;
  for (const OpenNode& open : open_) {
    close(open, job, rank, naming, frame);
    bytes += frame.size() - (open.end - open.begin);
  }
  return bytes;
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
    const std::int64_t root = binding.roots().empty() ? -1 : binding.roots()[graph.collective_index(open.node)];
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

std::string trace_path(const std::filesystem::path& prefix, std::uint32_t rank) {
  return fmt::format("{}.{}.et", prefix.string(), rank);
}

void make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw InputError({directory.string()}, fmt::format("cannot be created: {}", error.message()));
  if (!std::filesystem::is_directory(directory, error))
    throw InputError({directory.string()}, "is a file, expected a directory");
}

// Names communicators by their own names, which nobody but this program has to read; by numbers where names do not tell
// them apart.
CommunicatorNaming name_by_names(std::span<const Communicator> communicators) {
  CommunicatorNaming naming{{""}, std::vector<std::string>(communicators.size())};
  std::set<std::string> names = {""};
  for (std::size_t i = 1; i < communicators.size(); ++i) {
    naming.keys.push_back(utf8_of(communicators[i].name));
    if (!names.insert(naming.keys.back()).second) return name_communicators(communicators);
  }
  return naming;
}

// Plan of traces: the ranks that get one, and their names for communicators.
struct TracePlan {
  CommunicatorNaming naming;
  std::vector<RankRole> roles;       // by rank; empty: each has a trace of its own
  std::vector<std::uint32_t> ranks;  // that have traces, by graph
};

// The first of several alike ranks writes the trace of all; if no two are alike, every rank writes one.
TracePlan plan_of(const Job& job, TraceEach each) {
  TracePlan plan;
  if (each == TraceEach::kRole) {
    plan.naming = name_by_names(job.communicators);
    plan.roles = roles_of(job, plan.naming.keys);
  }
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    if (plan.roles.empty() || plan.roles[rank].trace == rank) plan.ranks.push_back(rank);
  if (plan.ranks.size() == job.ranks.size()) plan = {name_communicators(job.communicators), {}, std::move(plan.ranks)};
  // One graph and one set of labels after the other, so that one encoded graph is held at a time.
  std::ranges::stable_sort(
      plan.ranks, {}, [&](std::uint32_t rank) { return std::pair(job.ranks[rank].graph, job.ranks[rank].labels); });
  return plan;
}

// A trace of another form, or of a rank that this job has not, would be read as part of it; so would a file of roles.
void refuse_other_traces(const std::filesystem::path& prefix, const Job& job, const TracePlan& plan) {
  const std::set<std::uint32_t> ranks(plan.ranks.begin(), plan.ranks.end());
  for (const TraceFile& file : list_trace_files(prefix.string()))
    if (!ranks.contains(file.rank) || file.path != trace_path(prefix, file.rank))
      throw InputError(
          {file.path},
          plan.roles.empty() || file.rank >= job.ranks.size()
              ? fmt::format("is a trace of the same name, of another job: this one has {} ranks", job.ranks.size())
              : fmt::format("is a trace of the same name, of another job: in this one rank {} shares that "
                            "of rank {}",
                            file.rank, plan.roles[file.rank].trace),
          "write to another directory, or remove the old traces");
  const std::string roles = roles_file_of(prefix.string());
  if (plan.roles.empty() && !is_missing(roles))
    throw InputError({roles}, "says which ranks share traces, of another job: in this one each has its own",
                     "write to another directory, or remove the old traces");
}

void write_roles(OutputFile& file, std::span<const RankRole> roles) {
  file.write(fmt::format("{{\"schema\": \"{}\", \"ranks\": [", kRolesSchema));
  for (const RankRole& role : roles) file.write((&role == roles.data() ? "\n  " : ",\n  ") + to_text(role));
  file.write("\n]}\n");
}

// {"1": [0, 1], ...} in the order of the GroupIds.
void write_groups(OutputFile& file, const Job& job, const CommunicatorNaming& naming) {
  file.write("{");
  for (std::size_t group = 1; group < job.communicators.size(); ++group) {
    std::string line = fmt::format("{}\n  {}: [", group == 1 ? "" : ",", dump_json(nlohmann::json(naming.keys[group])));
    for (bool is_first = true; const RankId member : job.communicators[group].members)
      line += fmt::format("{}{}", std::exchange(is_first, false) ? "" : ", ", index_of(member));
    file.write(line + "]");
  }
  file.write(job.communicators.size() > 1 ? "\n}\n" : "}\n");
}

}  // namespace

ChakraSource write_job(const Job& job, const std::filesystem::path& directory, const std::string& stem,
                       TraceEach each) {
  if (stem.empty() || stem.find('/') != std::string::npos || stem.find('\0') != std::string::npos)
    throw InputError({directory.string()}, fmt::format("invalid file name \"{}\"", printable(stem)),
                     "rank r becomes <name>.<r>.et");
  make_directory(directory);
  const std::filesystem::path prefix = directory / stem;
  const std::string groups = (directory / "groups.json").string();
  lock_folder(directory.empty() ? "." : directory.string());
  const TracePlan plan = plan_of(job, each);
  refuse_other_traces(prefix, job, plan);

  OutputFiles files;
  files.add(groups, [&](OutputFile& file) { write_groups(file, job, plan.naming); });
  if (!plan.roles.empty())
    files.add(roles_file_of(prefix.string()), [&](OutputFile& file) { write_roles(file, plan.roles); });
  std::unique_ptr<const EncodedGraph> graph;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> encoded;  // graph and labels
  for (const std::uint32_t rank : plan.ranks) {
    const std::pair of_rank(job.ranks.graph(rank), job.ranks.labels(rank));
    if (encoded != of_rank) {
      graph.reset();
      graph = std::make_unique<EncodedGraph>(job.graph(RankId(rank)), job.labels_of(RankId(rank)));
      encoded = of_rank;
    }
    files.add(trace_path(prefix, rank), [&](OutputFile& file) { graph->write(file, job, RankId(rank), plan.naming); });
  }
  files.commit(trace_path(prefix, 0));
  return {.prefix = prefix.string(), .groups = groups};
}

std::uint64_t bytes_of_traces(const Job& job, TraceEach each) {
  const TracePlan plan = plan_of(job, each);
  const auto same = [&](std::uint32_t a, std::uint32_t b) {
    return job.ranks.graph(a) == job.ranks.graph(b) && job.ranks.labels(a) == job.ranks.labels(b);
  };
  std::uint64_t bytes = 0;
  for (auto first = plan.ranks.begin(); first != plan.ranks.end();) {
    const auto end = std::find_if(first, plan.ranks.end(), [&](std::uint32_t rank) { return !same(*first, rank); });
    const EncodedGraph graph(job.graph(RankId(*first)), job.labels_of(RankId(*first)));
    bytes += graph.size(job, RankId(*first), plan.naming) * static_cast<std::uint64_t>(end - first);
    first = end;
  }
  return bytes;
}

}  // namespace orrery::workload
