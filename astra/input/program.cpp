// SPDX-License-Identifier: MIT
#include "astra/input/program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <filesystem>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "astra/input/trace_reader.h"
#include "core/hash.h"
#include "core/files/read_file.h"

namespace orrery::astra {
namespace {

constexpr std::uint64_t kTags = 500'000'000;

enum TraceType : std::uint32_t { kInvalid, kMetadata, kMemLoad, kMemStore, kComp, kSend, kRecv, kColl };
constexpr std::array<std::string_view, 10> kChakraCollectives = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

// Complaint about a node of a rank's trace.
struct Complaint {
  const std::string& file;
  std::uint32_t rank;
  const TraceNode* node = nullptr;

  [[noreturn]] void operator()(const std::string& message, std::string hint = {}) const {
    Problem problem{Severity::kError, {file}, message, std::move(hint), rank};
    if (node != nullptr) {
      problem.node = fmt::format("node {}", node->id);
      const std::string name = node->name.empty() ? "" : fmt::format(" \"{}\"", printable(node->name));
      problem.message = fmt::format("{}{}: {}", problem.node, name, message);
    }
    throw InputError({std::move(problem)});
  }
};

// In nanoseconds.
Ticks duration_of(const TraceNode& node, const Complaint& fail) {
  if (node.duration_us >= kEndOfTime / 1000) fail(fmt::format("duration_micros is {}, too large", node.duration_us));
  return node.duration_us == 0 ? 1 : node.duration_us * 1000;
}

// Numbers things within a program, in the order of their first use.
template <class Value>
std::uint32_t slot_of(std::vector<Value>& slots, Value value) {
  const auto found = std::ranges::find(slots, value);
  if (found != slots.end()) return static_cast<std::uint32_t>(found - slots.begin());
  slots.push_back(value);
  return static_cast<std::uint32_t>(slots.size() - 1);
}

// The graph of a file: nodes by ascending id, and who waits for whom.
class Graph {
 public:
  Graph(std::vector<TraceNode>& nodes, Complaint complaint) : nodes_(nodes), complaint_(complaint) {
    std::ranges::sort(nodes_, {}, &TraceNode::id);
    for (std::size_t i = 1; i < nodes_.size(); ++i)
      if (nodes_[i].id == nodes_[i - 1].id)
        fail(nodes_[i], "the id is given twice",
             "ASTRA-sim keeps the last of them and drops the others; node ids must differ");
  }

  void link(Program& program) {
    const std::size_t count = nodes_.size();
    program.parent_count.assign(count, 0);
    program.child_begin.assign(count + 1, 0);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  // parent, child
    for (std::uint32_t child = 0; child < count; ++child) {
      std::vector<std::uint64_t>& parents = nodes_[child].parents;
      std::ranges::sort(parents);
      parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
      for (const std::uint64_t parent : parents) edges.emplace_back(index_of(parent, nodes_[child]), child);
      program.parent_count[child] = static_cast<std::uint32_t>(parents.size());
    }
    for (const auto& [parent, child] : edges) ++program.child_begin[parent + 1];
    std::partial_sum(program.child_begin.begin(), program.child_begin.end(), program.child_begin.begin());
    program.children.resize(edges.size());
    std::vector<std::uint32_t> end = program.child_begin;
    for (const auto& [parent, child] : edges) program.children[end[parent]++] = child;
    refuse_cycles(program);
  }

 private:
  std::uint32_t index_of(std::uint64_t id, const TraceNode& child) const {
    if (id == child.id)
      fail(child, "depends on itself", "ASTRA-sim drops such a node without a word and reports the rank as finished");
    // Ids are mostly dense.
    if (id < nodes_.size() && nodes_[id].id == id) return static_cast<std::uint32_t>(id);
    const auto found = std::ranges::lower_bound(nodes_, id, {}, &TraceNode::id);
    if (found == nodes_.end() || found->id != id)
      fail(child, fmt::format("depends on node {}, which is not in the file", id),
           "was the trace cut short? ASTRA-sim stops here, too");
    return static_cast<std::uint32_t>(found - nodes_.begin());
  }

  void refuse_cycles(const Program& program) const {
    std::vector<std::uint32_t> waits = program.parent_count;
    std::vector<std::uint32_t> ready;
    for (std::uint32_t i = 0; i < waits.size(); ++i)
      if (waits[i] == 0) ready.push_back(i);
    for (std::size_t i = 0; i < ready.size(); ++i)
      for (const std::uint32_t child : program.children_of(ready[i]))
        if (--waits[child] == 0) ready.push_back(child);
    if (ready.size() == nodes_.size()) return;
    const auto first = std::ranges::find_if(waits, [](std::uint32_t count) { return count > 0; });
    fail(nodes_[static_cast<std::size_t>(first - waits.begin())], "is on a cycle of dependencies, or behind one",
         "ASTRA-sim drops such nodes without a word and reports the rank as finished");
  }

  [[noreturn]] void fail(const TraceNode& node, const std::string& message, std::string hint) const {
    Complaint{complaint_.file, complaint_.rank, &node}(message, std::move(hint));
  }

  std::vector<TraceNode>& nodes_;
  Complaint complaint_;
};

// Turns the nodes of one rank's file into its program.
class Translator {
 public:
  Translator(const Inputs& inputs, Job& job) : inputs_(inputs), job_(job) {}

  Program translate(const std::string& file, std::uint32_t rank, std::vector<TraceNode>& nodes, RankProgram& own) {
    Program program;
    Graph graph(nodes, {file, rank});
    program.nodes.reserve(nodes.size());
    for (const TraceNode& node : nodes) program.nodes.push_back(translate(node, {file, rank, &node}, own));
    graph.link(program);
    return program;
  }

 private:
  Node translate(const TraceNode& from, const Complaint& fail, RankProgram& own) {
    const System& system = inputs_.system;
    Node node{.id = from.id, .on_host = from.on_host};
    node.duration = duration_of(from, fail);
    if (system.track_memory && !(from.has_inputs && from.has_outputs))
      fail("has no attributes 'inputs' and 'outputs', which track-local-mem needs",
           "set track-local-mem to 0; ASTRA-sim swallows the error, and no rank finishes");
    switch (from.type) {
      case kInvalid:
        node.kind = NodeKind::kInvalid;
        node.skips = !system.replay_only;
        break;
      case kMetadata:
        fail("is a METADATA node, of which ASTRA-sim aborts", "leave METADATA nodes out of the trace");
      case kMemLoad:
      case kMemStore:
        memory(from, fail, node);
        break;
      case kComp:
        compute(from, fail, node);
        break;
      default:
        communication(from, fail, node, own);
    }
    return node;
  }

  void compute(const TraceNode& from, const Complaint& fail, Node& node) const {
    const System& system = inputs_.system;
    if (!system.roofline || system.replay_only || from.on_host) return;
    const auto needed = [&](const std::optional<std::int64_t>& value, const char* name) {
      if (!value)
        fail(fmt::format("the roofline needs the attribute '{}', which is missing", name),
             "set roofline-enabled to 0 to take duration_micros, or add num_ops and tensor_size");
      if (*value < 0) fail(fmt::format("the attribute '{}' is {}, expected at least 0", name, *value));
      return static_cast<double>(*value);
    };
    const double operations = needed(from.num_ops, "num_ops");
    const double bytes = needed(from.tensor_size, "tensor_size");
    if (bytes == 0) {
      node.skips = true;
      return;
    }
    if (operations == 0)
      fail("num_ops is 0, and the roofline is on: ASTRA-sim computes a time of 2^63 ns",
           "give the node its operations, or leave it out");
    if (system.peak <= 0 || system.memory_bandwidth <= 0)
      throw InputError(
          system.where("roofline-enabled"),
          fmt::format("the roofline needs {}, which is missing or 0", system.peak <= 0 ? "peak-perf" : "local-mem-bw"),
          "peak-perf is in TFLOPS, local-mem-bw in GB/s");
    const double speed = std::min(system.memory_bandwidth * 1e9 * (operations / bytes), system.peak);
    const double duration = operations / speed * 1e9;
    node.duration = whole_ticks(duration, 0, [&] {
      const char* key = speed == system.peak ? "peak-perf" : "local-mem-bw";
      refuse_too_long(system.where(key), key, fmt::format("node {} of rank {}", from.id, fail.rank), duration);
    });
  }

  void memory(const TraceNode& from, const Complaint& fail, Node& node) const {
    node.kind = NodeKind::kMemory;
    if (inputs_.system.replay_only) return;
    const RemoteMemory& memory = inputs_.memory;
    const std::string hint =
        fmt::format("give `memory-type` PER_NPU_MEMORY_EXPANSION or MEMORY_POOL in {}", printable(memory.file));
    if (memory.kind == MemoryKind::kUnset) fail("loads or stores remote memory, but there is no memory-type", hint);
    if (memory.kind == MemoryKind::kNone)
      fail("loads or stores remote memory, but memory-type is NO_MEMORY_EXPANSION", hint);
    if (memory.kind == MemoryKind::kPerNode)
      fail("loads or stores remote memory of PER_NODE_MEMORY_EXPANSION, on which ASTRA-sim crashes", hint);
    if (!from.tensor_size || *from.tensor_size < 0) fail("the attribute 'tensor_size' is missing or negative");
    node.bytes = static_cast<std::uint64_t>(*from.tensor_size);
  }

  void communication(const TraceNode& from, const Complaint& fail, Node& node, RankProgram& own) {
    node.kind = from.type == kColl ? NodeKind::kCollective : from.type == kSend ? NodeKind::kSend : NodeKind::kReceive;
    if (from.on_host) fail("is communication with is_cpu_op true, of which ASTRA-sim aborts", "set is_cpu_op to false");
    if (inputs_.system.replay_only) return;
    if (node.kind == NodeKind::kCollective && from.comm_type == 5) {
      node.comm = CommKind::kBroadcast;  // its duration is replayed
      return;
    }
    if (!from.comm_size || *from.comm_size < 0)
      fail(from.comm_size ? "comm_size is negative" : "the attribute 'comm_size' is missing");
    node.bytes = static_cast<std::uint64_t>(*from.comm_size);
    if (node.kind == NodeKind::kCollective) return collective(from, fail, node, own);
    message(from, fail, node, own);
  }

  void message(const TraceNode& from, const Complaint& fail, Node& node, RankProgram& own) const {
    const bool sends = node.kind == NodeKind::kSend;
    const std::optional<std::int64_t>& self = sends ? from.comm_src : from.comm_dst;
    const std::optional<std::int64_t>& peer = sends ? from.comm_dst : from.comm_src;
    if (self && *self != fail.rank)
      fail(fmt::format("{} is {}, expected the own rank {}", sends ? "comm_src" : "comm_dst", *self, fail.rank));
    const char* name = sends ? "comm_dst" : "comm_src";
    if (!peer) fail(fmt::format("the attribute '{}' is missing", name));
    if (*peer < 0 || *peer >= inputs_.network.npus)
      fail(fmt::format("{} is {}, but the network has ranks 0 to {}", name, *peer, inputs_.network.npus - 1));
    if (*peer == fail.rank) fail(fmt::format("{} is the own rank {}", name, fail.rank));
    node.tag = static_cast<std::uint32_t>(static_cast<std::uint64_t>(from.comm_tag.value_or(0)) % kTags);
    node.slot = slot_of(own.peers, static_cast<std::uint32_t>(*peer));
  }

  void collective(const TraceNode& from, const Complaint& fail, Node& node, RankProgram& own) {
    node.comm = kind_of(from, fail);
    const std::uint64_t group = group_of(from, fail);
    node.slot = slot_of(own.groups, group);
    node.dimensions = UINT32_MAX;
    if (from.dimensions) {
      const std::size_t count = std::min<std::size_t>(inputs_.network.dimensions.size(), 32);
      if (from.dimensions->size() < count)
        fail(fmt::format("involved_dim has {} entries, but the network has {} dimensions", from.dimensions->size(),
                         count));
      node.dimensions = 0;
      for (std::size_t d = 0; d < count; ++d)
        if ((*from.dimensions)[d]) node.dimensions |= 1u << d;
    }
    const auto custom = inputs_.system.custom_of_node.find(from.id);
    if (custom != inputs_.system.custom_of_node.end()) node.custom = 1 + slot_of(job_.custom_prefixes, custom->second);
  }

  static CommKind kind_of(const TraceNode& from, const Complaint& fail) {
    if (!from.comm_type) fail("the attribute 'comm_type' is missing");
    switch (*from.comm_type) {
      case 0:
        return CommKind::kAllReduce;
      case 2:
        return CommKind::kAllGather;
      case 6:
        return CommKind::kAllToAll;
      case 7:
        return CommKind::kReduceScatter;
      default:
        break;
    }
    const auto type = static_cast<std::size_t>(*from.comm_type);
    fail(fmt::format("comm_type {} is a collective that ASTRA-sim does not have",
                     type < kChakraCollectives.size() ? std::string(kChakraCollectives[type])
                                                      : fmt::format("{}", *from.comm_type)),
         "it has ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL and REDUCE_SCATTER");
  }

  std::uint64_t group_of(const TraceNode& from, const Complaint& fail) const {
    const std::string_view name = from.group;
    if (name.empty() || name == "0") return 0;
    const bool is_number = name.size() <= 9 && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number)
      fail(fmt::format("pg_name is '{}', expected the number of a communicator group", printable(name)),
           "ASTRA-sim's groups are numbered; `orrery run` takes any names");
    const std::uint64_t id = std::stoull(std::string(name));
    const auto group = inputs_.groups.find(id);
    if (group == inputs_.groups.end())
      fail(fmt::format("pg_name is {}, a communicator group that is not in {}", id,
                       inputs_.groups_file.empty() ? "any file" : printable(inputs_.groups_file)),
           "name the groups' file with --comm-group-configuration; a path with \"empty\" in it is not read");
    if (std::ranges::find(group->second, fail.rank) == group->second.end())
      fail(fmt::format("calls group {}, of which rank {} is no member", id, fail.rank));
    return id;
  }

  const Inputs& inputs_;
  Job& job_;
};

// Finds programs of equal content.
class Programs {
 public:
  explicit Programs(std::vector<Program>& programs) : programs_(programs) {}

  std::uint32_t number_of(Program program) {
    std::vector<std::uint32_t>& candidates = by_digest_[digest_of(program)];
    for (const std::uint32_t candidate : candidates)
      if (programs_[candidate] == program) return candidate;
    candidates.push_back(static_cast<std::uint32_t>(programs_.size()));
    programs_.push_back(std::move(program));
    return candidates.back();
  }

 private:
  static std::uint64_t digest_of(const Program& program) {
    ContentDigest digest;
    for (const Node& node : program.nodes) {
      digest.add(node.id ^ static_cast<std::uint64_t>(node.kind) << 60);
      digest.add(node.bytes ^ std::uint64_t{node.tag} << 32 ^ node.slot);
      digest.add(node.duration);
    }
    return digest.value();
  }

  std::vector<Program>& programs_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_digest_;
};

// Contents that have been read. Files of several ranks are often equal byte by byte.
class Contents {
 public:
  const RankProgram* find(const std::string& bytes) const {
    for (const auto& [known, program] : kept_)
      if (known == bytes) return &program;
    return nullptr;
  }
  void keep(std::string bytes, const RankProgram& program) {
    if (kept_.size() == kMost) kept_.pop_front();
    kept_.emplace_back(std::move(bytes), program);
  }

 private:
  static constexpr std::size_t kMost = 4;
  std::deque<std::pair<std::string, RankProgram>> kept_;
};

std::string read_rank_file(const std::string& file, const std::string& prefix, std::uint32_t rank, std::uint32_t npus) {
  if (!is_missing(file)) return read_file(file);
  if (rank == 0)
    throw InputError({file}, "does not exist",
                     fmt::format("--workload-configuration is a prefix: '{}' stands for {}.0.et, {}.1.et, ...",
                                 printable(prefix), printable(prefix), printable(prefix)));
  throw InputError({file}, fmt::format("does not exist: there are {} traces, but the network has {} NPUs", rank, npus),
                   "write a trace for each NPU, or a network of as many NPUs");
}

// True if this file is right for one rank only: a message names its own rank.
bool names_own_rank(const std::vector<TraceNode>& nodes) {
  return std::ranges::any_of(nodes, [](const TraceNode& node) {
    return (node.type == kSend && node.comm_src) || (node.type == kRecv && node.comm_dst);
  });
}

}  // namespace

std::string_view name_of(NodeKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"computation", "collective",    "send",
                                                      "receive",     "memory access", "invalid node"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string trace_of(const std::string& prefix, std::uint32_t rank) { return fmt::format("{}.{}.et", prefix, rank); }

Job read_job(Inputs& inputs) {
  Job job;
  Translator translator(inputs, job);
  Programs programs(job.programs);
  Contents contents;
  std::vector<TraceNode> nodes;
  const std::string& prefix = inputs.flags.workload;
  for (std::uint32_t rank = 0; rank < inputs.network.npus; ++rank) {
    const std::string file = trace_of(prefix, rank);
    std::string bytes = read_rank_file(file, prefix, rank, inputs.network.npus);
    if (const RankProgram* known = contents.find(bytes)) {
      const bool talks_to_itself = std::ranges::find(known->peers, rank) != known->peers.end();
      const bool is_member = std::ranges::all_of(known->groups, [&](std::uint64_t id) {
        return id == 0 || std::ranges::find(inputs.groups.at(id), rank) != inputs.groups.at(id).end();
      });
      if (!talks_to_itself && is_member) {
        job.ranks.push_back(*known);
        continue;
      }
    }
    read_trace(file, bytes, nodes);
    RankProgram own;
    own.program = programs.number_of(translator.translate(file, rank, nodes, own));
    if (!names_own_rank(nodes)) contents.keep(std::move(bytes), own);
    job.ranks.push_back(std::move(own));
  }
  std::error_code code;
  if (const std::string more = trace_of(prefix, inputs.network.npus); std::filesystem::exists(more, code))
    inputs.warnings.push_back(
        {Severity::kWarning,
         {more},
         fmt::format("is not read: the network has {} NPUs, and only as many ranks are simulated", inputs.network.npus),
         "write a network of as many NPUs as there are traces"});
  return job;
}

Program read_custom(const std::string& file, std::uint32_t position, std::vector<std::uint32_t>& peers) {
  std::vector<TraceNode> nodes;
  const std::string bytes = read_file(file);
  read_trace(file, bytes, nodes);
  Program program;
  Graph graph(nodes, {file, position});
  for (const TraceNode& from : nodes) {
    const Complaint fail{file, position, &from};
    Node node{.id = from.id};
    node.duration = duration_of(from, fail);
    if (from.type != kComp) {
      if (from.type != kSend && from.type != kRecv)
        fail("a custom collective is made of COMM_SEND, COMM_RECV and COMP nodes only");
      node.kind = from.type == kSend ? NodeKind::kSend : NodeKind::kReceive;
      const std::optional<std::int64_t>& peer = from.type == kSend ? from.comm_dst : from.comm_src;
      if (!peer || *peer < 0 || *peer > INT32_MAX || !from.comm_size || *from.comm_size < 0)
        fail("a message needs the attributes comm_size and comm_dst or comm_src");
      node.bytes = static_cast<std::uint64_t>(*from.comm_size);
      node.tag = static_cast<std::uint32_t>(static_cast<std::uint64_t>(from.comm_tag.value_or(0)) % kTags);
      node.slot = slot_of(peers, static_cast<std::uint32_t>(*peer));
    }
    program.nodes.push_back(node);
  }
  graph.link(program);
  return program;
}

}  // namespace orrery::astra
