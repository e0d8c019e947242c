#include "workload/traces/rank_binding.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/suggest.h"

namespace orrery {
namespace {

constexpr std::size_t kUndefinedNamed = 10;

std::string quoted(const std::string& name) { return fmt::format("\"{}\"", printable(name, 40)); }

std::string counted_ranks(std::uint32_t ranks) { return ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks); }

// The checks of one rank.
class Binder {
 public:
  Binder(RankId rank, std::uint32_t ranks, const RankTrace& trace, const ExecutionGraph& graph,
         const NodeLabels& labels, const CommunicatorNames& names, Findings& findings)
      : rank_(rank), ranks_(ranks), trace_(trace), graph_(graph), labels_(labels), names_(names), findings_(findings) {}

  RankBinding bind() {
    RankBinding binding;
    binding.source = findings_.file();
    for (std::uint32_t slot = 0; slot < graph_.communicator_slots(); ++slot)
      binding.communicators.push_back(communicator(slot));
    for (const std::int64_t peer : trace_.peers)
      binding.peers.push_back(RankId(peer >= 0 && peer < ranks_ ? static_cast<std::uint32_t>(peer) : 0));
    if (std::ranges::any_of(trace_.tags, [](std::int64_t tag) { return tag != 0; })) binding.tags = trace_.tags;
    if (std::ranges::any_of(trace_.roots, [](std::int64_t root) { return root >= 0; })) binding.roots = trace_.roots;
    for (const NodeId node : graph_.transfers()) check_transfer(node);
    if (!binding.roots.empty())
      for (const NodeId node : graph_.collectives())
        check_root(node, binding.communicators[graph_.communicator_slot(node)]);
    return binding;
  }

 private:
  std::string rank_named() const { return fmt::format("rank {}", index_of(rank_)); }

  GroupId communicator(std::uint32_t slot) {
    const std::string& name = trace_.communicators[slot];
    const std::string first = labels_.describe(graph_.calls(slot).front());
    const std::optional<GroupId> group = names_.find(name);
    if (!group && ++undefined_ > kUndefinedNamed) {
      findings_.error("more communicators are not defined", first);
      return GroupId(0);
    }
    if (!group) {
      findings_.error(fmt::format("communicator {} is not defined", quoted(name)), first, names_.hint(name));
      return GroupId(0);
    }
    if (!names_.is_member(*group, rank_))
      findings_.error(fmt::format("collective on communicator {} by a rank that is no member", quoted(name)),
                      fmt::format("{} on {}", first, rank_named()), "the groups must list every rank that calls");
    return *group;
  }

  void check_transfer(NodeId node) {
    const bool is_send = graph_.kind(node) == NodeKind::kSend;
    const std::int64_t peer = trace_.peers[graph_.peer_slot(node)];
    const std::string_view attribute = is_send ? "comm_dst" : "comm_src";
    if (peer < 0 || peer >= ranks_)
      findings_.error(
          fmt::format("{} out of range; there {} {}", attribute, ranks_ == 1 ? "is" : "are", counted_ranks(ranks_)),
          fmt::format("{} ({})", labels_.describe(node), peer));
    else if (peer == index_of(rank_))
      findings_.error(fmt::format("{} is the rank itself", attribute),
                      fmt::format("{} on {}", labels_.describe(node), rank_named()));
    const std::int64_t own = trace_.own_ranks[graph_.transfer_index(node)];
    if (own == -1 || own == index_of(rank_)) return;
    findings_.error(fmt::format("{} is not the rank whose trace this is", is_send ? "comm_src" : "comm_dst"),
                    fmt::format("{} on {} ({})", labels_.describe(node), rank_named(), own));
  }

  void check_root(NodeId node, GroupId group) {
    const std::int64_t root = trace_.roots[graph_.collective_index(node)];
    if (root < 0) return;
    if (root < ranks_ && names_.is_member(group, RankId(static_cast<std::uint32_t>(root)))) return;
    findings_.error("root that is no member of the communicator",
                    fmt::format("{} (rank {} in {})", labels_.describe(node), root, quoted(names_[group].name)),
                    "a root is given as a global rank");
  }

  RankId rank_;
  std::uint32_t ranks_;
  const RankTrace& trace_;
  const ExecutionGraph& graph_;
  const NodeLabels& labels_;
  const CommunicatorNames& names_;
  Findings& findings_;
  std::size_t undefined_ = 0;
};

}  // namespace

CommunicatorNames::CommunicatorNames(TraceSet traces, std::string groups_file)
    : traces_(std::move(traces)), groups_file_(std::move(groups_file)) {
  Communicator world{"world", {}};
  for (std::uint32_t rank = 0; rank < traces_.ranks; ++rank) world.members.push_back(RankId(rank));
  append(std::move(world));
}

void CommunicatorNames::append(Communicator communicator) {
  std::vector<RankId> sorted = communicator.members;
  std::ranges::sort(sorted);
  sorted_members_.push_back(std::move(sorted));
  communicators_.push_back(std::move(communicator));
}

void CommunicatorNames::add(CommunicatorGroup group) {
  const GroupId id{static_cast<std::uint32_t>(communicators_.size())};
  by_name_.emplace(group.name, id);
  append({std::move(group.name), std::move(group.members)});
  from_file_ = communicators_.size();
}

void CommunicatorNames::add(const ProcessGroup& group, Findings& findings) {
  Communicator communicator{group.name, {}};
  if (group.is_world) communicator.members = communicators_[0].members;
  if (group.world && *group.world != traces_.ranks)
    return findings.error(fmt::format("process group {} is of a world of {}", quoted(group.name), *group.world),
                          traces_.differs_from(*group.world), TraceSet::kHint);
  for (const std::uint32_t rank : group.ranks) {
    if (rank >= traces_.ranks)
      return findings.error(fmt::format("process group {}", quoted(group.name)), traces_.lacks(rank), TraceSet::kHint);
    communicator.members.push_back(RankId(rank));
  }
  const auto known = by_name_.find(group.name);
  if (known == by_name_.end()) {
    by_name_.emplace(group.name, GroupId(static_cast<std::uint32_t>(communicators_.size())));
    return append(std::move(communicator));
  }
  const bool is_from_file = index_of(known->second) < from_file_;
  if (!is_from_file && communicators_[index_of(known->second)].members != communicator.members)
    findings.error(fmt::format("process group {} has other ranks than in another trace", quoted(group.name)), {},
                   "give the groups in a file: workload.chakra.groups");
}

std::optional<GroupId> CommunicatorNames::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  if (name.empty() || name == "0") return GroupId(0);
  return std::nullopt;
}

GroupId CommunicatorNames::over(GroupId group, const std::vector<bool>& involved) {
  const GroupId next{static_cast<std::uint32_t>(communicators_.size() + made_.size())};
  const auto [known, is_new] = over_.try_emplace({group, involved}, next);
  if (is_new) made_.emplace_back(group, involved);
  return known->second;
}

GroupId CommunicatorNames::base_of(GroupId group) const {
  return index_of(group) < communicators_.size() ? group : made_[index_of(group) - communicators_.size()].first;
}

std::string CommunicatorNames::hint(const std::string& name) const {
  if (communicators_.size() == 1) {
    if (groups_file_.empty()) return "no groups file is given: name one in workload.chakra.groups";
    return fmt::format("{} defines no groups", printable(groups_file_));
  }
  constexpr std::size_t kNamesShown = 20;
  constexpr std::size_t kNamesCompared = 100;  // comparing costs time for every name that is not found
  std::string text =
      fmt::format("known communicators{}:", groups_file_.empty() ? "" : " in " + printable(groups_file_));
  std::vector<std::string> compared;
  for (std::size_t i = 1; i < std::min(communicators_.size(), kNamesCompared + 1); ++i) {
    compared.push_back(communicators_[i].name);
    if (i <= kNamesShown) text += (i == 1 ? " " : ", ") + quoted(communicators_[i].name);
  }
  if (communicators_.size() - 1 > kNamesShown)
    text += fmt::format(" and {} more", communicators_.size() - 1 - kNamesShown);
  const std::string near = nearest_name(name, compared);
  return near.empty() ? text : text + fmt::format("; did you mean {}?", quoted(near));
}

void CommunicatorNames::describe(GroupId group, const std::string& description) {
  if (!description.empty() && group != GroupId(0)) descriptions_[group].insert(description);
}

std::vector<Communicator> CommunicatorNames::take() {
  std::map<std::string, std::size_t> uses;
  for (const Communicator& communicator : communicators_) ++uses[communicator.name];
  for (const auto& [group, said] : descriptions_)
    for (const std::string& description : said) ++uses[description];
  for (const auto& [group, said] : descriptions_)
    if (said.size() == 1 && uses[*said.begin()] == 1) communicators_[index_of(group)].name = *said.begin();
  for (auto& [base, involved] : made_) {
    Communicator communicator = communicators_[index_of(base)];
    communicator.involved = std::move(involved);
    communicators_.push_back(std::move(communicator));
  }
  return std::move(communicators_);
}

bool CommunicatorNames::is_member(GroupId group, RankId rank) const {
  return group == GroupId(0) || std::ranges::binary_search(sorted_members_[index_of(group)], rank);
}

RankBinding bind_rank(RankId rank, std::uint32_t ranks, const RankTrace& trace, const ExecutionGraph& graph,
                      const NodeLabels& labels, const CommunicatorNames& names, Findings& findings) {
  return Binder(rank, ranks, trace, graph, labels, names, findings).bind();
}

}  // namespace orrery
