// SPDX-License-Identifier: MIT
#include "workload/import/kineto/symmetric.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "workload/graph/rank_list.h"

namespace orrery::workload {
namespace {

// Ranks at even distances that tile a world.
struct Line {
  std::uint32_t stride = 1;
  std::uint32_t size = 1;

  std::uint32_t position(std::uint32_t rank) const { return rank / stride % size; }
  std::uint32_t start(std::uint32_t rank) const { return rank - position(rank) * stride; }
  std::string text() const {
    return stride == 1 ? fmt::format("{} neighbours", size) : fmt::format("{} ranks, every {}th", size, stride);
  }
};

std::optional<Line> line_through(std::vector<std::uint32_t> members, std::uint32_t rank, std::uint32_t world) {
  std::ranges::sort(members);
  const Line line{members.size() > 1 ? members[1] - members[0] : 1, static_cast<std::uint32_t>(members.size())};
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i] != members[0] + i * line.stride) return std::nullopt;
  const std::uint64_t span = std::uint64_t{line.stride} * line.size;
  if (world % span != 0 || line.start(rank) != members[0]) return std::nullopt;
  return line;
}

// A group of the profiles, to be found again around any rank.
struct Shape {
  Line line;
  std::vector<std::uint32_t> order;  // positions on the line, as the group lists its members
};

class Spreading {
 public:
  Spreading(std::vector<RecordedRank> recorded, const KinetoGroups& groups, Diagnostics& diagnostics)
      : recorded_(std::move(recorded)), groups_(groups), all_(groups.world()), diagnostics_(diagnostics) {}

  Job spread() {
    for (const RecordedRank& one : recorded_) read(one);
    diagnostics_.throw_if_errors();
    find_roles();
    tell();
    JobAssembler job(groups_.world());
    std::vector<RankBinding> kept;
    for (RecordedRank& one : recorded_) kept.push_back(job.keep(std::move(one.nodes), one.file));
    for (std::uint32_t rank = 0; rank < groups_.world(); ++rank) job.add_rank(bound(kept[role_of(rank)], rank));
    all_.add_to(job);
    return job.finish();
  }

 private:
  void read(const RecordedRank& one) {
    for (const GroupId group : one.nodes.communicators()) read(one, group);
    for (const auto& [peer, group] : one.peer_groups) {
      if (groups_.is_world(group))
        nearest_ = std::min(nearest_, std::max(index_of(peer), one.rank) - std::min(index_of(peer), one.rank));
      else if (read(one, group))
        pipeline_ = shapes_.at(group).line;
    }
  }

  bool read(const RecordedRank& one, GroupId group) {
    if (groups_.is_world(group) || shapes_.contains(group)) return true;
    const std::vector<std::uint32_t>& members = groups_.members(group);
    const auto line = line_through(members, one.rank, groups_.world());
    if (!line) {
      std::vector<std::uint32_t> sorted = members;
      std::ranges::sort(sorted);
      diagnostics_.error({one.file},
                         fmt::format("process group '{}' is {}: how the other ranks of {} are grouped cannot be told",
                                     printable(groups_.label(group), 40), rank_list(sorted), groups_.world()),
                         "give the profiles of all ranks");
      return false;
    }
    Shape shape{*line, {}};
    for (const std::uint32_t member : members) shape.order.push_back(line->position(member));
    shapes_.emplace(group, std::move(shape));
    return true;
  }

  // Finds the profiles of each position in the pipeline.
  void find_roles() {
    const bool is_plain = nearest_ == UINT32_MAX;
    if (!is_plain && groups_.world() % nearest_ != 0)
      throw InputError({recorded_.front().file},
                       fmt::format("its nearest peer is {} ranks away, which does not divide the world of {}", nearest_,
                                   groups_.world()),
                       "give the profiles of all ranks");
    if (!is_plain) on_world_ = Line{nearest_, groups_.world() / nearest_};
    if (!pipeline_ && !is_plain) pipeline_ = on_world_;
    roles_.resize(pipeline_ ? pipeline_->size : 1);
    for (std::uint32_t i = 0; i < recorded_.size(); ++i) {
      roles_[stage_of(recorded_[i].rank)].push_back(i);
      index_.emplace(recorded_[i].rank, i);
    }
    std::vector<std::uint32_t> missing;
    for (std::uint32_t stage = 0; stage < roles_.size(); ++stage)
      if (roles_[stage].empty()) missing.push_back(stage * pipeline_->stride);
    if (missing.empty()) return;
    throw InputError({recorded_.front().file},
                     fmt::format("sends to or receives from other ranks: of {} stages, none of {} {} a profile",
                                 roles_.size(), missing.size(), missing.size() == 1 ? "has" : "have"),
                     fmt::format("give a profile of one rank of each stage, for example of {}", rank_list(missing)));
  }

  std::uint32_t stage_of(std::uint32_t rank) const { return pipeline_ ? pipeline_->position(rank) : 0; }

  std::uint32_t role_of(std::uint32_t rank) const {
    if (const auto own = index_.find(rank); own != index_.end()) return own->second;
    const std::vector<std::uint32_t>& roles = roles_[stage_of(rank)];
    return roles[rank % roles.size()];
  }

  // The recorded rank's groups and peers as `rank` has them.
  RankBinding bound(RankBinding binding, std::uint32_t rank) {
    const RecordedRank& one = recorded_[role_of(rank)];
    std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::uint32_t> known;
    for (GroupId& group : binding.communicators) {
      if (groups_.is_world(group)) continue;
      std::vector<std::uint32_t> members = moved(shapes_.at(group), rank);
      std::string label = groups_.label(group);
      if (const std::uint32_t others = known[{label, members}]++; others > 0) label += fmt::format(".{}", others);
      group = all_.labelled(label, std::move(members));
    }
    for (RankId& peer : binding.peers) {
      const GroupId group = one.peer_groups.at(peer);
      const Line& line = groups_.is_world(group) ? *on_world_ : shapes_.at(group).line;
      peer = RankId{line.start(rank) + line.position(index_of(peer)) * line.stride};
    }
    return binding;
  }

  static std::vector<std::uint32_t> moved(const Shape& shape, std::uint32_t rank) {
    std::vector<std::uint32_t> members;
    for (const std::uint32_t position : shape.order)
      members.push_back(shape.line.start(rank) + position * shape.line.stride);
    return members;
  }

  void tell() const {
    std::vector<std::uint32_t> there;
    for (const auto& [rank, i] : index_) there.push_back(rank);
    std::set<std::string> shapes;
    for (const auto& [group, shape] : shapes_)
      shapes.insert(fmt::format("{}: {}", printable(groups_.label(group), 40), shape.line.text()));
    std::string text =
        fmt::format("{} of {} stand{} for all {} ranks: assumed is that the others do the same in the same time",
                    there.size() == 1 ? "the profile" : "the profiles", rank_list(there), there.size() == 1 ? "s" : "",
                    groups_.world());
    if (roles_.size() > 1) text += fmt::format(", by {} pipeline stages, {}", roles_.size(), pipeline_->text());
    if (!shapes.empty()) text += fmt::format(", in process groups of the same shape ({})", fmt::join(shapes, "; "));
    diagnostics_.warning({recorded_.front().file}, text, "the profiles of all ranks need no assumption");
  }

  std::vector<RecordedRank> recorded_;
  const KinetoGroups& groups_;
  KinetoGroups all_;
  Diagnostics& diagnostics_;
  std::map<GroupId, Shape> shapes_;
  std::uint32_t nearest_ = UINT32_MAX;  // peer on the group of all ranks
  std::optional<Line> on_world_;        // the pipeline there
  std::optional<Line> pipeline_;
  std::vector<std::vector<std::uint32_t>> roles_;  // by stage, into recorded_
  std::map<std::uint32_t, std::uint32_t> index_;   // by rank, into recorded_
};

}  // namespace

Job spread_over_world(std::vector<RecordedRank> recorded, const KinetoGroups& groups, Diagnostics& diagnostics) {
  return Spreading(std::move(recorded), groups, diagnostics).spread();
}

}  // namespace orrery::workload
