// Ties one rank to its graph: looks up the communicators its trace names, and checks what depends on which rank it is.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "workload/graph/findings.h"
#include "workload/graph/job.h"
#include "workload/traces/groups.h"
#include "workload/traces/rank_trace.h"

namespace orrery {

// The communicators of a job by the names traces use.
class CommunicatorNames {
 public:
  // `groups_file` is for messages; empty when none was given.
  CommunicatorNames(TraceSet traces, std::string groups_file);

  // How many are from the groups file: the first after the world.
  std::size_t from_file() const { return from_file_ == 0 ? 0 : from_file_ - 1; }
  // From the groups file.
  void add(CommunicatorGroup group);
  // From a trace. A group that is known already must be the same; one from the groups file wins.
  void add(const ProcessGroup& group, Findings& findings);

  // The name is not given, "", or is "0" without a group of that name: the world.
  std::optional<GroupId> find(const std::string& name) const;
  // What to say about a name that find() does not know.
  std::string hint(const std::string& name) const;

  const Communicator& operator[](GroupId group) const { return communicators_[index_of(group)]; }
  // The same ranks, calling over these dimensions only. No communicator is added any more from then on.
  GroupId over(GroupId group, const std::vector<bool>& involved);
  // The one that `group` was made of by over(), or itself.
  GroupId base_of(GroupId group) const;
  bool is_member(GroupId group, RankId rank) const;
  // What a trace calls a communicator besides its name; "" says nothing.
  void describe(GroupId group, const std::string& description);
  // With the descriptions as names, where they say which communicator is meant: all traces agree, and no other
  // communicator is called so.
  std::vector<Communicator> take();

 private:
  void append(Communicator communicator);

  TraceSet traces_;
  std::string groups_file_;
  std::vector<Communicator> communicators_;          // 0 is the world
  std::vector<std::vector<RankId>> sorted_members_;  // by GroupId
  std::map<std::string, GroupId> by_name_;
  std::map<std::pair<GroupId, std::vector<bool>>, GroupId> over_;
  std::vector<std::pair<GroupId, std::vector<bool>>> made_;  // by over(); they are numbered behind all others
  std::map<GroupId, std::set<std::string>> descriptions_;
  std::size_t from_file_ = 1;  // communicators below this are the world and those of the groups file
};

// Fills everything but the indices of graph and labels. Slots of one communicator are not merged yet. What is wrong for
// this rank goes to `findings`.
RankBinding bind_rank(RankId rank, std::uint32_t ranks, const RankTrace& trace, const ExecutionGraph& graph,
                      const NodeLabels& labels, const CommunicatorNames& names, Findings& findings);

}  // namespace orrery
