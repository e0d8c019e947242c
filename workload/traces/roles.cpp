// SPDX-License-Identifier: MIT
#include "workload/traces/roles.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "core/files/read_file.h"
#include "workload/chakra/json_text.h"
#include "workload/traces/files.h"

namespace orrery::workload {
namespace {

using Event = JsonText::Event;
using nlohmann::json;

constexpr std::string_view kExpected =
    R"(expected {"schema": "orrery.roles/1", "ranks": [{"trace": rank, "groups": [names], "peers": [ranks]}, ...]})";

bool is_rank(const json& value) { return value.is_number_unsigned() && value.get<std::uint64_t>() < UINT32_MAX; }

// The member of an entry, null where it has none.
const json& member(const json& entry, const char* key) {
  static const json kNull;
  const auto found = entry.find(key);
  return found == entry.end() ? kNull : *found;
}

bool is_list(const json& list, bool (*is_right)(const json&)) {
  return list.is_array() && std::ranges::all_of(list, is_right);
}

// Fault of a rank's entry; "" if it has none.
std::string fault_of(const json& entry, std::uint32_t rank) {
  if (!is_rank(member(entry, "trace"))) return "'trace' is not a rank";
  if (member(entry, "trace").get<std::uint32_t>() > rank) return "'trace' is a later rank";
  if (!is_list(member(entry, "groups"), [](const json& name) { return name.is_string(); }))
    return "'groups' is not a list of names";
  if (!is_list(member(entry, "peers"), is_rank)) return "'peers' is not a list of ranks";
  return {};
}

// Entries are taken one by one, so that the file is never held as a tree.
std::vector<RankRole> read_roles(const std::string& file) {
  const std::string text = read_text(file);
  JsonText reader(file, text);
  std::vector<RankRole> roles;
  std::string key;
  std::size_t begin = 0;
  bool has_schema = false;
  reader.parse([&](int depth, Event event, json& value) {
    if (depth == 0) {
      if (event != Event::object_start && event != Event::object_end)
        reader.fail(0, "no file of roles", std::string(kExpected));
      return true;
    }
    if (depth == 1 && event == Event::key) {
      key = value.get<std::string>();
      return true;
    }
    if (depth == 1 && event == Event::value && key == "schema") has_schema = value == kRolesSchema;
    if (depth == 2 && event == Event::object_start) begin = reader.offset() - 1;
    if (key != "ranks" || depth != 2 || event == Event::object_start) return true;
    const auto rank = static_cast<std::uint32_t>(roles.size());
    const std::string fault = event == Event::object_end ? fault_of(value, rank) : "is not an object";
    if (!fault.empty())
      reader.fail(event == Event::object_end ? begin : reader.offset() - 1, fmt::format("rank {}: {}", rank, fault),
                  std::string(kExpected));
    roles.push_back({member(value, "trace").get<std::uint32_t>(),
                     member(value, "groups").get<std::vector<std::string>>(),
                     member(value, "peers").get<std::vector<std::int64_t>>()});
    return false;
  });
  if (!has_schema || roles.empty())
    reader.fail(0, has_schema ? "there are no ranks" : "no file of roles", std::string(kExpected));
  return roles;
}

JobTraces traces_of_roles(const std::string& prefix, const std::string& file) {
  JobTraces traces{.files = {}, .file_of_rank = {}, .roles_file = file, .roles = read_roles(file)};
  std::map<std::uint32_t, std::uint32_t> numbers;  // of files, by rank
  for (const TraceFile& trace : list_trace_files(prefix)) {
    const auto [known, is_new] = numbers.emplace(trace.rank, static_cast<std::uint32_t>(traces.files.size()));
    const bool is_used = trace.rank < traces.roles.size() && traces.roles[trace.rank].trace == trace.rank;
    if (!is_new || !is_used)
      throw InputError({trace.path}, fmt::format("no rank has this trace, as {} has it", printable(file)),
                       "remove it, or the file of roles where each rank has a trace of its own");
    traces.files.push_back(trace.path);
  }
  for (std::uint32_t rank = 0; rank < traces.roles.size(); ++rank) {
    const auto found = numbers.find(traces.roles[rank].trace);
    if (found == numbers.end())
      throw InputError({file},
                       fmt::format("rank {} has the trace of rank {}, and there is no {}.{}.et", rank,
                                   traces.roles[rank].trace, printable(prefix), traces.roles[rank].trace),
                       "the traces of a job belong together, with their file of roles");
    traces.file_of_rank.push_back(found->second);
  }
  return traces;
}

// Slots of a graph in the order in which its nodes first name them.
struct SlotOrder {
  std::vector<std::uint32_t> communicators;
  std::vector<std::uint32_t> peers;
};

SlotOrder slot_order(const ExecutionGraph& graph) {
  SlotOrder order;
  std::vector<bool> named(graph.communicator_slots()), met(graph.peer_slots());
  for (const NodeId node : graph.collectives())
    if (const std::uint32_t slot = graph.communicator_slot(node); !named[slot]) {
      named[slot] = true;
      order.communicators.push_back(slot);
    }
  for (const NodeId node : graph.transfers())
    if (const std::uint32_t slot = graph.peer_slot(node); !met[slot]) {
      met[slot] = true;
      order.peers.push_back(slot);
    }
  return order;
}

// Distinct ids that a rank names, in order, and the index among them by slot.
template <class Id>
struct Named {
  Named(std::span<const std::uint32_t> slots, const IdList<Id>& of_slot) {
    std::map<Id, std::uint32_t> numbers;
    for (const std::uint32_t slot : slots) {
      const auto [known, is_new] = numbers.emplace(of_slot[slot], static_cast<std::uint32_t>(ids.size()));
      if (is_new) ids.push_back(of_slot[slot]);
      pattern.push_back(known->second);
    }
  }

  std::vector<Id> ids;
  std::vector<std::uint32_t> pattern;
};

// The ranks of one graph that have traces of their own, with what others are compared by.
class RoleFinder {
 public:
  RoleFinder(const Job& job, std::span<const std::string> keys) : job_(job), keys_(keys), orders_(job.graphs.size()) {}

  RankRole role_of(std::uint32_t rank) {
    const RankBinding& binding = job_.ranks[rank];
    std::optional<SlotOrder>& order = orders_[binding.graph];
    if (!order) order = slot_order(job_.graphs[binding.graph]);
    const Named<GroupId> groups(order->communicators, binding.communicators);
    const Named<RankId> peers(order->peers, binding.peers);
    Shape shape{rank, groups.pattern, peers.pattern, {}};
    RankRole role;
    for (const GroupId group : groups.ids) {
      role.groups.push_back(keys_[index_of(group)]);
      shape.involved.push_back(job_.communicators[index_of(group)].involved);
    }
    for (const RankId peer : peers.ids) role.peers.push_back(index_of(peer));
    role.trace = trace_for(std::move(shape));
    return role;
  }

 private:
  struct Shape {
    std::uint32_t rank = 0;
    std::vector<std::uint32_t> groups;
    std::vector<std::uint32_t> peers;
    std::vector<std::optional<std::vector<bool>>> involved;  // by group named
  };

  bool is_alike(const Shape& a, const Shape& b) const {
    const RankBinding &x = job_.ranks[a.rank], &y = job_.ranks[b.rank];
    return a.groups == b.groups && a.peers == b.peers && a.involved == b.involved &&
           (x.shared_details == y.shared_details || (x.tags() == y.tags() && x.roots() == y.roots()));
  }

  std::uint32_t trace_for(Shape shape) {
    const RankBinding& binding = job_.ranks[shape.rank];
    std::vector<Shape>& known = shapes_[{binding.graph, binding.labels}];
    for (const Shape& other : known)
      if (is_alike(other, shape)) return other.rank;
    known.push_back(std::move(shape));
    return known.back().rank;
  }

  const Job& job_;
  std::span<const std::string> keys_;
  std::vector<std::optional<SlotOrder>> orders_;                                  // by graph
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Shape>> shapes_;  // by graph and labels
};

}  // namespace

std::string roles_file_of(std::string_view prefix) { return fmt::format("{}.roles.json", prefix); }

JobTraces find_job_traces(const std::string& prefix) {
  const std::string file = roles_file_of(prefix);
  if (!is_missing(file)) return traces_of_roles(prefix, file);
  JobTraces traces;
  traces.files = find_trace_files(prefix);
  traces.file_of_rank.resize(traces.files.size());
  std::iota(traces.file_of_rank.begin(), traces.file_of_rank.end(), 0U);
  return traces;
}

std::vector<RankRole> roles_of(const Job& job, std::span<const std::string> keys) {
  RoleFinder finder(job, keys);
  std::vector<RankRole> roles;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) roles.push_back(finder.role_of(rank));
  return roles;
}

std::string to_text(const RankRole& role) {
  return fmt::format("{{\"trace\": {}, \"groups\": {}, \"peers\": {}}}", role.trace, dump_json(json(role.groups)),
                     dump_json(json(role.peers)));
}

}  // namespace orrery::workload
