// SPDX-License-Identifier: MIT
#include "workload/import/kineto/messages.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "core/error.h"
#include "workload/graph/rank_list.h"

namespace orrery::workload {
namespace {

using Type = KinetoOperationKind::Type;

struct NamePrefix {
  std::string_view prefix;
  KinetoOperationKind kind;
};

// Prefixes of lower-case names without underscores; the first that fits counts.
constexpr std::array<NamePrefix, 12> kPrefixes = {{
    {"allreduce", {Type::kCollective, CollectiveKind::kAllReduce}},
    {"allgather", {Type::kCollective, CollectiveKind::kAllGather}},
    {"alltoall", {Type::kCollective, CollectiveKind::kAllToAll}},
    {"reducescatter", {Type::kCollective, CollectiveKind::kReduceScatter}},
    {"reduce", {Type::kCollective, CollectiveKind::kReduce}},
    {"broadcast", {Type::kCollective, CollectiveKind::kBroadcast}},
    {"barrier", {Type::kCollective, CollectiveKind::kBarrier}},
    {"gather", {Type::kCollective, CollectiveKind::kGather}},
    {"scatter", {Type::kCollective, CollectiveKind::kScatter}},
    {"send", {Type::kSend, {}}},
    {"recv", {Type::kReceive, {}}},
    {"receive", {Type::kReceive, {}}},
}};

struct ElementSize {
  std::string_view type;
  std::int64_t bytes;
};

// c10::ScalarType and the types of C++; the eight-bit floats share a prefix.
constexpr std::array kElementSizes = std::to_array<ElementSize>({
    {"float", 4},         {"double", 8},       {"half", 2},         {"bfloat16", 2},     {"byte", 1},
    {"char", 1},          {"short", 2},        {"int", 4},          {"long", 8},         {"bool", 1},
    {"uint16", 2},        {"uint32", 4},       {"uint64", 8},       {"complexfloat", 8}, {"complexdouble", 16},
    {"complexhalf", 4},   {"unsignedchar", 1}, {"signedchar", 1},   {"longint", 8},      {"shortint", 2},
    {"unsignedshort", 2}, {"unsignedint", 4},  {"unsignedlong", 8},
});

std::string plain(std::string_view name) {
  std::string result;
  if (name.starts_with("c10::")) name.remove_prefix(5);
  for (const char c : name)
    if (c != '_' && c != ' ') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

void continue_evenly(std::vector<std::uint32_t>& ranks, std::int64_t size, std::uint32_t last) {
  const std::uint32_t step = ranks.size() > 1 ? ranks[1] - ranks[0] : 1;
  while (static_cast<std::int64_t>(ranks.size()) < size && ranks.back() < last) ranks.push_back(ranks.back() + step);
}

bool is_even(const std::vector<std::uint32_t>& ranks) {
  for (std::size_t i = 2; i < ranks.size(); ++i)
    if (ranks[i] - ranks[i - 1] != ranks[1] - ranks[0]) return false;
  return ranks.size() < 2 || ranks[1] > ranks[0];
}

}  // namespace

std::optional<KinetoOperationKind> operation_kind(std::string_view c10d_name) {
  const std::string name = plain(c10d_name);
  const auto found = std::ranges::find_if(kPrefixes, [&](const NamePrefix& p) { return name.starts_with(p.prefix); });
  if (found == kPrefixes.end()) return std::nullopt;
  return found->kind;
}

std::optional<std::int64_t> element_size(std::string_view type) {
  const std::string name = plain(type);
  if (name.starts_with("float8")) return 1;
  const auto found = std::ranges::find(kElementSizes, std::string_view(name), &ElementSize::type);
  if (found == kElementSizes.end()) return std::nullopt;
  return found->bytes;
}

std::optional<std::vector<std::uint32_t>> ranks_of(std::string_view text, std::int64_t size) {
  std::vector<std::uint32_t> ranks;
  std::size_t gap = std::string_view::npos;  // how many stand in front of the "..."
  while (!text.empty()) {
    if (text.starts_with("...")) {
      if (gap != std::string_view::npos) return std::nullopt;
      gap = ranks.size();
      text.remove_prefix(3);
      continue;
    }
    std::uint32_t rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error == std::errc())
      ranks.push_back(rank);
    else if (std::string_view("[], ()").find(text[0]) == std::string_view::npos)
      return std::nullopt;
    text.remove_prefix(error == std::errc() ? static_cast<std::size_t>(end - text.data()) : 1);
  }
  if (gap == std::string_view::npos) {
    if (ranks.empty() || (size >= 0 && static_cast<std::int64_t>(ranks.size()) != size)) return std::nullopt;
    return ranks;
  }
  const std::vector<std::uint32_t> behind(ranks.begin() + static_cast<std::ptrdiff_t>(gap), ranks.end());
  ranks.resize(gap);
  if (gap < 2 || behind.empty() || size < 0 || size > UINT32_MAX || !is_even(ranks)) return std::nullopt;
  const std::int64_t step = std::int64_t{ranks[1]} - ranks[0];
  if (ranks[0] + step * (size - 1) != behind.back()) return std::nullopt;
  for (std::size_t i = 0; i < behind.size(); ++i)
    if (behind[behind.size() - 1 - i] + step * static_cast<std::int64_t>(i) != behind.back()) return std::nullopt;
  continue_evenly(ranks, size, behind.back());
  return ranks;
}

std::optional<std::vector<std::uint32_t>> KinetoGroups::members_of(const KinetoTrace& trace,
                                                                   const KinetoMessage& message) const {
  if (message.group_size > world_)
    throw KinetoProblem(fmt::format("process group \"{}\" of {} ranks in a world of {}", printable(message.group, 40),
                                    message.group_size, world_));
  const auto told = [&](const std::string& text) { return ranks_of(text, message.group_size); };
  if (auto ranks = told(message.ranks)) return ranks;
  if (const auto config = trace.group_ranks.find(message.group); config != trace.group_ranks.end())
    if (auto ranks = told(config->second)) return ranks;
  std::vector<std::uint32_t> ranks;
  if (message.first_rank >= 0 && message.rank_stride > 0 && message.group_size > 0 && message.group_size <= world_ &&
      message.first_rank < world_ && message.rank_stride <= world_) {
    for (std::int64_t i = 0; i < message.group_size; ++i)
      ranks.push_back(static_cast<std::uint32_t>(message.first_rank + i * message.rank_stride));
    return ranks;
  }
  if (message.group_size != world_) {
    if (message.ranks.empty()) return std::nullopt;
    throw KinetoProblem(fmt::format("the ranks of process group \"{}\" cannot be told from \"{}\"",
                                    printable(message.group, 40), printable(message.ranks, 60)));
  }
  ranks.resize(world_);
  std::iota(ranks.begin(), ranks.end(), 0U);
  return ranks;
}

GroupId KinetoGroups::find(const KinetoTrace& trace, const KinetoMessage& message, std::uint32_t rank) {
  const std::optional<std::vector<std::uint32_t>> told = members_of(trace, message);
  std::vector<std::uint32_t> members;
  if (told) {
    members = *told;
  } else {
    const auto size = static_cast<std::uint32_t>(message.group_size > 0 ? message.group_size : world_);
    if (world_ % size != 0)
      throw KinetoProblem(
          fmt::format("a process group of {} ranks in a world of {}, and nothing says of which", size, world_));
    members.resize(size);
    std::iota(members.begin(), members.end(), rank / size * size);
  }
  std::vector<std::uint32_t> sorted = members;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end() || sorted.back() >= world_)
    throw KinetoProblem(fmt::format("process group \"{}\" has {}, but the world is {} ranks",
                                    printable(message.group, 40), rank_list(sorted), world_));
  if (!std::ranges::binary_search(sorted, rank))
    throw KinetoProblem(fmt::format("process group \"{}\" is {}, and rank {} calls on it", printable(message.group, 40),
                                    rank_list(sorted), rank));
  const bool is_default = message.description == "default_pg" ||
                          (message.description.empty() && (message.group.empty() || message.group == "0"));
  const bool is_world = members.size() == world_ && is_default && std::ranges::is_sorted(members);
  GroupId group{0};
  if (!is_world) {
    const auto [known, is_new] = known_.try_emplace({message.group, members}, GroupId{0});
    if (is_new) {
      const bool is_called = !message.description.empty() && message.description != "undefined";
      groups_.push_back({new_name(is_called ? message.description : message.group), std::move(members),
                         is_called ? message.description : "group"});
      known->second = GroupId{static_cast<std::uint32_t>(groups_.size())};
    }
    group = known->second;
  }
  if (!told) assumed_.insert(group);
  return group;
}

GroupId KinetoGroups::labelled(const std::string& label, std::vector<std::uint32_t> members) {
  const auto [known, is_new] = known_.try_emplace({label, members}, GroupId{0});
  if (is_new) {
    groups_.push_back({new_name(label), std::move(members), label});
    known->second = GroupId{static_cast<std::uint32_t>(groups_.size())};
  }
  return known->second;
}

// Common name of a group, with a number if several groups share it.
std::string KinetoGroups::new_name(std::string base) {
  if (base.empty()) base = "group";
  std::string name = base;
  while (!names_.insert(name).second) name = fmt::format("{}_{}", base, ++last_number_[base]);
  return name;
}

void KinetoGroups::add_to(JobAssembler& job) const {
  for (const Group& group : groups_) job.add_communicator(group.name, group.members);
}

}  // namespace orrery::workload
