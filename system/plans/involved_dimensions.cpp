// SPDX-License-Identifier: MIT
#include "system/plans/involved_dimensions.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "system/plans/communicator_layout.h"

namespace orrery::system {
namespace {

class Splitter {
 public:
  Splitter(workload::Job& job, const network::Fabric& fabric, std::span<const DeviceId> placement,
           const CollectiveOptions& options)
      : job_(job),
        placement_(placement),
        library_(options.library),
        dimensions_(collective_dimensions(fabric, options.logical_dimensions)) {}

  void split() {
    const std::size_t groups = job_.communicators.size();
    for (std::uint32_t group = 0; group < groups; ++group)
      if (job_.communicators[group].involved && job_.communicators[group].members.size() > 1) split(GroupId(group));
    for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) bind(RankId(rank));
  }

  void warn(const std::string& file, Diagnostics& diagnostics) const {
    if (whole_ > 0)
      diagnostics.warning({file},
                          fmt::format("involved_dim means nothing to library nccl, which runs a call over the whole "
                                      "group at once: the calls on {} group{} run over all of it",
                                      whole_, whole_ == 1 ? "" : "s"),
                          "collectives: {library: fixed} goes by the dimensions of the cluster");
    if (irregular_ > 0)
      diagnostics.warning(
          {file},
          fmt::format("involved_dim means nothing to {} group{} ('{}' is one), which are not a whole part of "
                      "the cluster: the calls run over all of it",
                      irregular_, irregular_ == 1 ? "" : "s", printable(first_irregular_)),
          "a group needs, in each dimension, all coordinates or one; on rings, tori and meshes equally "
          "spaced ones will do");
    if (idle_ > 0)
      diagnostics.warning(
          {file}, fmt::format("involved_dim involves no dimension of {} group{}, whose calls move nothing", idle_,
                              idle_ == 1 ? "" : "s"));
  }

 private:
  // Positions along the involved dimensions, and along the others.
  struct Place {
    std::vector<std::uint32_t> within;
    std::vector<std::uint32_t> of_line;
  };

  // For each rank of a communicator that was split: the group in its place, and the rank's place in that.
  struct Lines {
    std::map<RankId, Place> places;
    std::map<std::vector<std::uint32_t>, GroupId> by_line;
    std::map<std::pair<GroupId, std::vector<std::uint32_t>>, RankId> rank_at;
  };

  void split(GroupId group) {
    const workload::Communicator whole = job_.communicators[index_of(group)];
    std::vector<DeviceId> devices;
    for (const RankId member : whole.members) devices.push_back(placement_[index_of(member)]);
    const CommunicatorLayout layout = lay_out(devices, dimensions_);
    if (!layout.cuboid && library_ == nullptr) {
      if (irregular_++ == 0) first_irregular_ = whole.name;
      return;
    }
    const auto is_involved = [&](std::size_t d) {
      return layout.dimensions[d] < whole.involved->size() && (*whole.involved)[layout.dimensions[d]];
    };
    Lines lines;
    bool any = false, all = true;
    for (std::size_t d = 0; d < layout.dimensions.size(); ++d) is_involved(d) ? any = true : all = false;
    if (all) return;
    if (library_ != nullptr) return void(++whole_);
    if (!any) ++idle_;
    for (std::uint32_t member = 0; member < whole.members.size(); ++member) {
      Place place;
      for (std::size_t d = 0; d < layout.dimensions.size(); ++d)
        (is_involved(d) ? place.within : place.of_line).push_back(layout.coordinate(layout.position_of[member], d));
      const GroupId next{static_cast<std::uint32_t>(job_.communicators.size())};
      const auto [line, is_new] = lines.by_line.try_emplace(place.of_line, next);
      if (is_new) job_.communicators.push_back({whole.name, {}});
      job_.communicators[index_of(line->second)].members.push_back(whole.members[member]);
      lines.rank_at.emplace(std::pair(line->second, place.within), whole.members[member]);
      lines.places.emplace(whole.members[member], std::move(place));
    }
    lines_.emplace(group, std::move(lines));
  }

  void bind(RankId rank) {
    workload::RankBinding& binding = job_.ranks[index_of(rank)];
    const workload::ExecutionGraph& graph = job_.graphs[binding.graph];
    for (std::uint32_t slot = 0; slot < binding.communicators.size(); ++slot) {
      const auto found = lines_.find(binding.communicators[slot]);
      if (found == lines_.end()) continue;
      const Lines& lines = found->second;
      const GroupId line = lines.by_line.at(lines.places.at(rank).of_line);
      binding.communicators[slot] = line;
      if (binding.roots().empty()) continue;
      // Takes as root of every line the rank in the root's place.
      for (const NodeId node : graph.calls(slot))
        if (std::int64_t& root = binding.own_details().roots[graph.collective_index(node)]; root >= 0)
          root = index_of(lines.rank_at.at({line, lines.places.at(RankId(static_cast<std::uint32_t>(root))).within}));
    }
  }

  workload::Job& job_;
  std::span<const DeviceId> placement_;
  const GroupLibrary* library_;
  std::vector<network::LogicalDimension> dimensions_;
  std::map<GroupId, Lines> lines_;  // by the communicator that was split
  std::size_t whole_ = 0;
  std::size_t irregular_ = 0;
  std::string first_irregular_;
  std::size_t idle_ = 0;
};

}  // namespace

void split_by_dimensions(workload::Job& job, const network::Fabric& fabric, std::span<const DeviceId> placement,
                         const CollectiveOptions& options, const std::string& file, Diagnostics& diagnostics) {
  Splitter splitter(job, fabric, placement, options);
  splitter.split();
  splitter.warn(file, diagnostics);
}

}  // namespace orrery::system
