// SPDX-License-Identifier: MIT
#include "workload/traces/groups.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/suggest.h"
#include "workload/chakra/json_text.h"

namespace orrery::workload {
namespace {

using Event = JsonText::Event;

// What stands where it should not is reported once and skipped with all it contains.
class GroupsReader {
 public:
  GroupsReader(const std::string& file, std::string_view text, const TraceSet& traces, Diagnostics& diagnostics)
      : text_(file, text), traces_(traces), diagnostics_(diagnostics) {}

  std::vector<CommunicatorGroup> read() {
    try {
      text_.parse([this](int depth, Event event, nlohmann::json& value) { return take(depth, event, value); });
    } catch (const InputError& error) {
      diagnostics_.error(error.problems()[0].where, error.problems()[0].message, kExpected);
    }
    return std::move(groups_);
  }

 private:
  static constexpr const char* kExpected = "expected {\"name\": [global ranks], ...}";
  static constexpr int kNothing = std::numeric_limits<int>::max();

  // Keeps nothing but the brackets around what comes next.
  bool take(int depth, Event event, const nlohmann::json& value) {
    if (depth > skipped_) return false;
    skipped_ = kNothing;
    switch (event) {
      case Event::key:
        start_group(value.get_ref<const std::string&>());
        return true;
      case Event::object_start:
        return depth == 0 || skip(depth, "an object");
      case Event::array_start:
        return depth == 1 || skip(depth, "a list");
      case Event::array_end:
        end_group();
        return false;
      case Event::object_end:
        return true;
      case Event::value:
        break;
    }
    if (depth == 2 && value.is_number_unsigned())
      member(value.get<std::uint64_t>());
    else
      misplaced(depth, start_of_token(),
                value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : printable(text_.token(), 40));
    return false;
  }

  std::size_t start_of_token() const { return text_.start_of(text_.token()); }

  void fail(std::size_t offset, std::string message) {
    diagnostics_.error(text_.location(offset), std::move(message), kExpected);
    broken_ = true;
  }

  bool skip(int depth, const std::string& found) {
    misplaced(depth, text_.offset() - 1, found);
    skipped_ = depth;
    return false;
  }

  void misplaced(int depth, std::size_t offset, const std::string& found) {
    if (depth == 0)
      fail(offset, fmt::format("the groups are {}, not an object", found));
    else if (depth == 1)
      fail(offset, fmt::format("group {} is {}, not a list of ranks", in_quotes(group_.name), found));
    else
      fail(offset, fmt::format("group {}: {} is not a rank", in_quotes(group_.name), found));
  }

  void start_group(const std::string& name) {
    group_ = {name, {}};
    members_.clear();
    broken_ = false;
    if (!names_.insert(name).second) fail(start_of_token(), fmt::format("group {} is given twice", in_quotes(name)));
  }

  void member(std::uint64_t rank) {
    if (rank >= traces_.ranks)
      fail(start_of_token(), fmt::format("group {}: {}", in_quotes(group_.name), traces_.lacks(rank)));
    else if (!members_.insert(rank).second)
      fail(start_of_token(), fmt::format("group {} has rank {} twice", in_quotes(group_.name), rank));
    else
      group_.members.push_back(RankId(static_cast<std::uint32_t>(rank)));
  }

  void end_group() {
    if (group_.members.empty() && !broken_)
      fail(text_.offset() - 1, fmt::format("group {} has no ranks", in_quotes(group_.name)));
    if (!broken_) groups_.push_back(std::move(group_));
  }

  JsonText text_;
  const TraceSet& traces_;
  Diagnostics& diagnostics_;
  int skipped_ = kNothing;  // everything deeper is skipped
  bool broken_ = false;     // the group has an error
  CommunicatorGroup group_;
  std::set<std::uint64_t> members_;
  std::set<std::string> names_;
  std::vector<CommunicatorGroup> groups_;
};

}  // namespace

std::string in_quotes(std::string_view name) { return fmt::format("\"{}\"", printable(name, 40)); }

std::vector<CommunicatorGroup> read_groups(const std::string& file, std::string_view text, const TraceSet& traces,
                                           Diagnostics& diagnostics) {
  return GroupsReader(file, text, traces, diagnostics).read();
}

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
    return findings.error(fmt::format("process group {} is of a world of {}", in_quotes(group.name), *group.world),
                          traces_.differs_from(*group.world), TraceSet::kHint);
  for (const std::uint32_t rank : group.ranks) {
    if (rank >= traces_.ranks)
      return findings.error(fmt::format("process group {}", in_quotes(group.name)), traces_.lacks(rank),
                            TraceSet::kHint);
    communicator.members.push_back(RankId(rank));
  }
  const auto known = by_name_.find(group.name);
  if (known == by_name_.end()) {
    by_name_.emplace(group.name, GroupId(static_cast<std::uint32_t>(communicators_.size())));
    return append(std::move(communicator));
  }
  const bool is_from_file = index_of(known->second) < from_file_;
  if (!is_from_file && communicators_[index_of(known->second)].members != communicator.members)
    findings.error(fmt::format("process group {} has other ranks than in another trace", in_quotes(group.name)), {},
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
    if (i <= kNamesShown) text += (i == 1 ? " " : ", ") + in_quotes(communicators_[i].name);
  }
  if (communicators_.size() - 1 > kNamesShown)
    text += fmt::format(" and {} more", communicators_.size() - 1 - kNamesShown);
  const std::string near = nearest_name(name, compared);
  return near.empty() ? text : text + fmt::format("; did you mean {}?", in_quotes(near));
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

}  // namespace orrery::workload
