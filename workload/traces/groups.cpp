// SPDX-License-Identifier: MIT
#include "workload/traces/groups.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/suggest.h"
#include "workload/chakra/json_text.h"
#include "workload/graph/rank_list.h"

namespace orrery::workload {
namespace {

using Event = JsonText::Event;

// A misplaced value is reported once and skipped with all it contains.
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
    report_absent();
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
      misplaced(depth, text_.start_of(text_.token(value.is_string())),
                value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : printable(text_.token(false), 40));
    return false;
  }

  std::size_t start_of_key() const { return text_.start_of(text_.token(true)); }
  std::size_t start_of_number() const { return text_.start_of(text_.token(false)); }

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
    group_ = {name, {}, text_.location(start_of_key()).line};
    members_.clear();
    broken_ = false;
    if (!names_.insert(name).second) fail(start_of_key(), fmt::format("group {} is given twice", in_quotes(name)));
  }

  void member(std::uint64_t rank) {
    if (rank > UINT32_MAX)
      fail(start_of_number(), fmt::format("group {}: {} is not a rank", in_quotes(group_.name), rank));
    else if (!members_.insert(rank).second)
      fail(start_of_number(), fmt::format("group {} has rank {} twice", in_quotes(group_.name), rank));
    else
      group_.members.push_back(RankId(static_cast<std::uint32_t>(rank)));
    if (rank > UINT32_MAX) return;
    ranks_.insert(static_cast<std::uint32_t>(rank));
    if (rank < traces_.ranks) return;
    if (!absent_) absent_ = Absent{text_.location(start_of_number()), group_.name};
    broken_ = true;
  }

  // The ranks of the file that have no traces, once for all groups.
  void report_absent() {
    if (!absent_) return;
    if (*std::prev(ranks_.end(), 1) == traces_.ranks)
      return diagnostics_.error(
          absent_->where, fmt::format("group {}: {}", in_quotes(absent_->group), traces_.lacks(traces_.ranks)),
          fmt::format("the trace of rank {} is missing, or the group lists one rank too many", traces_.ranks));
    const std::vector<std::uint32_t> all(ranks_.begin(), ranks_.end());
    diagnostics_.error(absent_->where, fmt::format("the groups are of {}, {}", rank_list(all), traces_.described()),
                       "the file is that of another job, or traces are missing");
  }

  void end_group() {
    if (group_.members.empty() && !broken_)
      fail(text_.offset() - 1, fmt::format("group {} has no ranks", in_quotes(group_.name)));
    if (!broken_) groups_.push_back(std::move(group_));
  }

  // First mention in the file of a rank that has no trace.
  struct Absent {
    Location where;
    std::string group;
  };

  JsonText text_;
  const TraceSet& traces_;
  Diagnostics& diagnostics_;
  int skipped_ = kNothing;  // everything deeper is skipped
  bool broken_ = false;     // the group has an error
  CommunicatorGroup group_;
  std::set<std::uint64_t> members_;
  std::set<std::string> names_;
  std::set<std::uint32_t> ranks_;  // of all groups
  std::optional<Absent> absent_;
  std::vector<CommunicatorGroup> groups_;
};

}  // namespace

std::string in_quotes(std::string_view name) { return fmt::format("\"{}\"", printable(name, 40)); }

std::vector<CommunicatorGroup> read_groups(const std::string& file, std::string_view text, const TraceSet& traces,
                                           Diagnostics& diagnostics) {
  return GroupsReader(file, text, traces, diagnostics).read();
}

CommunicatorNames::CommunicatorNames(TraceSet traces, std::string groups_file, TraceReader reader)
    : traces_(std::move(traces)), groups_file_(std::move(groups_file)), reader_(reader) {
  Communicator world{"world", {}};
  for (std::uint32_t rank = 0; rank < traces_.ranks; ++rank) world.members.push_back(RankId(rank));
  append(std::move(world));
}

void CommunicatorNames::append(Communicator communicator) {
  std::vector<RankId> sorted(communicator.members.begin(), communicator.members.end());
  std::ranges::sort(sorted);
  sorted_members_.push_back(std::move(sorted));
  communicators_.push_back(std::move(communicator));
}

void CommunicatorNames::add(CommunicatorGroup group) {
  const GroupId id{static_cast<std::uint32_t>(communicators_.size())};
  by_name_.emplace(group.name, id);
  append({std::move(group.name), std::move(group.members), {}, fmt::format("{}:{}", groups_file_, group.line)});
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
                   "give the groups in a file: " + choice_of(reader_, "groups", "FILE"));
}

std::optional<GroupId> CommunicatorNames::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  if (name.empty() || name == "0") return GroupId(0);
  return std::nullopt;
}

void CommunicatorNames::note_call(const std::string& name, RankId rank) {
  const std::optional<GroupId> group = find(name);
  if (group && is_member(*group, rank)) return;
  std::vector<std::uint32_t>& ranks = group ? strangers_[*group] : unknown_callers_[name];
  if (ranks.empty() || ranks.back() != index_of(rank)) ranks.push_back(index_of(rank));
}

void CommunicatorNames::define_unknown(Diagnostics& diagnostics) {
  constexpr std::size_t kNamed = 10;
  std::size_t named = 0;
  for (const auto& [name, ranks] : unknown_callers_)
    if (named++ < kNamed)
      diagnostics.warning({traces_.prefix},
                          fmt::format("communicator {} is not defined; {} {} on it", in_quotes(name), rank_list(ranks),
                                      ranks.size() == 1 ? "calls" : "call"),
                          hint(name));
  if (named > kNamed)
    diagnostics.warning({traces_.prefix}, fmt::format("{} more communicators are not defined", named - kNamed));
  for (const auto& [name, ranks] : unknown_callers_) {
    Communicator communicator{.name = name, .members = {}, .is_defined = false};
    for (const std::uint32_t rank : ranks) communicator.members.push_back(RankId(rank));
    by_name_.emplace(name, GroupId(static_cast<std::uint32_t>(communicators_.size())));
    append(std::move(communicator));
  }
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
    if (groups_file_.empty()) return "no groups file is given; name one: " + choice_of(reader_, "groups", "FILE");
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
  // Another number is another communicator, not a slip.
  const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
  const std::string near = is_number ? "" : nearest_name(name, compared);
  return near.empty() ? text : text + fmt::format("; did you mean {}?", in_quotes(near));
}

std::string CommunicatorNames::hint_about_members(GroupId group) const {
  std::vector<std::uint32_t> members;
  for (const RankId rank : sorted_members_[index_of(group)]) members.push_back(index_of(rank));
  const Communicator& communicator = communicators_[index_of(group)];
  if (communicator.source.empty())
    return fmt::format("the process groups of the traces list {} for it; to say otherwise, {}", rank_list(members),
                       choice_of(reader_, "groups", "FILE"));
  return fmt::format("{} lists {} for it: add {}", printable(communicator.source), rank_list(members),
                     rank_list(strangers_.at(group)));
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
