// SPDX-License-Identifier: MIT
// Communicator groups: which ranks call collectives together, under which name. They come from a JSON file,
// {"name": [global ranks], ...}, or from the `## process_group:init ##` nodes that PyTorch puts into its traces.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "workload/graph/findings.h"
#include "workload/graph/job.h"
#include "workload/traces/files.h"
#include "workload/traces/load_job.h"

namespace orrery::workload {

struct CommunicatorGroup {
  std::string name;
  std::vector<RankId> members;  // in the order given; each once
  int line = 0;                 // of the file

  bool operator==(const CommunicatorGroup&) const = default;
};

// The name of a group as messages give it.
std::string in_quotes(std::string_view name);

// The groups in the JSON `text`, in the order of the file. All that is wrong (not an object of lists, an empty list, a
// rank that is repeated, negative, fractional or not among the `traces`, a repeated name, not JSON) goes to
// `diagnostics` with line and column; the groups without errors are returned.
std::vector<CommunicatorGroup> read_groups(const std::string& file, std::string_view text, const TraceSet& traces,
                                           Diagnostics& diagnostics);

// A process group as a PyTorch trace declares it. `is_world`: the list of ranks is empty, which means all of them;
// `world` is then how many those are, where the trace says it.
struct ProcessGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;
  bool is_world = false;
  std::optional<std::uint64_t> world{};

  bool operator==(const ProcessGroup&) const = default;
};

// True for the name of a PyTorch node that declares process groups.
bool is_process_group_node(std::string_view node_name);

// Reads the `inputs.values` of such a node: a Python list of a string that holds a JSON list of objects with `pg_name`
// and `ranks`. Single quotes, and the inner list without the string around it, are understood too. Throws InputError,
// with `where` and a message that begins with `node`.
std::vector<ProcessGroup> read_process_groups(const Location& where, const std::string& node, std::string_view values);

// The communicators of a job by the names traces use.
class CommunicatorNames {
 public:
  // `groups_file` is for messages, of `reader`; empty when none was given.
  CommunicatorNames(TraceSet traces, std::string groups_file, TraceReader reader);

  // Number of communicators from the groups file: the first after the world.
  std::size_t from_file() const { return from_file_ == 0 ? 0 : from_file_ - 1; }
  // From the groups file.
  void add(CommunicatorGroup group);
  // From a trace. A group that is known already must be the same; one from the groups file wins.
  void add(const ProcessGroup& group, Findings& findings);

  // The name is not given, "", or is "0" without a group of that name: the world.
  std::optional<GroupId> find(const std::string& name) const;
  // A rank calls on `name`. To be said of all ranks, in ascending order, before hints are asked for.
  void note_call(const std::string& name, RankId rank);
  // Makes communicators, of the ranks that call, of names that find() does not know.
  void define_unknown(Diagnostics& diagnostics);
  // Hint on a name that find() does not know.
  std::string hint(const std::string& name) const;
  // Hint on ranks that call on a communicator without being members.
  std::string hint_about_members(GroupId group) const;

  const Communicator& operator[](GroupId group) const { return communicators_[index_of(group)]; }
  // The same ranks, calling over these dimensions only. No communicator is added any more from then on.
  GroupId over(GroupId group, const std::vector<bool>& involved);
  // The one that `group` was made of by over(), or itself.
  GroupId base_of(GroupId group) const;
  bool is_member(GroupId group, RankId rank) const;
  // Records the trace's description of a communicator beside its name; "" says nothing.
  void describe(GroupId group, const std::string& description);
  // Communicators, named by their descriptions where these say which is meant: all traces agree, and no other
  // communicator is called so.
  std::vector<Communicator> take();

 private:
  void append(Communicator communicator);

  TraceSet traces_;
  std::string groups_file_;
  TraceReader reader_;
  std::vector<Communicator> communicators_;          // 0 is the world
  std::vector<std::vector<RankId>> sorted_members_;  // by GroupId
  std::map<std::string, GroupId> by_name_;
  std::map<std::pair<GroupId, std::vector<bool>>, GroupId> over_;
  std::vector<std::pair<GroupId, std::vector<bool>>> made_;  // by over(); they are numbered behind all others
  std::map<GroupId, std::set<std::string>> descriptions_;
  std::map<std::string, std::vector<std::uint32_t>> unknown_callers_;  // by name
  std::map<GroupId, std::vector<std::uint32_t>> strangers_;            // ranks that call and are no members
  std::size_t from_file_ = 1;  // communicators below this are the world and those of the groups file
};

}  // namespace orrery::workload
