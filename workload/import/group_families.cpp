#include "workload/import/group_families.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/assert.h"

namespace orrery {
namespace {

std::uint32_t group_of(std::uint32_t rank, FamilyShape shape) {
  return rank / (shape.size * shape.stride) * shape.stride + rank % shape.stride;
}

}  // namespace

std::uint32_t GroupFamilies::slot(std::string_view name, FamilyShape shape) {
  const auto found = std::ranges::find_if(
      families_, [&](const Family& family) { return family.name == name && family.shape == shape; });
  if (found != families_.end()) return static_cast<std::uint32_t>(found - families_.begin());
  const bool is_taken = std::ranges::find(families_, name, &Family::name) != families_.end();
  std::string prefix = is_taken ? fmt::format("{}_{}x{}_", name, shape.size, shape.stride) : std::string(name);
  families_.push_back({std::string(name), shape, std::move(prefix)});
  return static_cast<std::uint32_t>(families_.size() - 1);
}

void GroupFamilies::bind(Job& job) const {
  const auto ranks = static_cast<std::uint32_t>(job.ranks.size());
  job.communicators = {{"world", {}}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) job.communicators[0].members.push_back(RankId(rank));
  for (const Family& family : families_) {
    ORRERY_ASSERT(ranks % (family.shape.size * family.shape.stride) == 0);
    const auto first = static_cast<std::uint32_t>(job.communicators.size());
    for (std::uint32_t group = 0; group < ranks / family.shape.size; ++group)
      job.communicators.push_back({fmt::format("{}{}", family.prefix, group), {}});
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t group = first + group_of(rank, family.shape);
      job.communicators[group].members.push_back(RankId(rank));
      job.ranks[rank].communicators.push_back(GroupId(group));
    }
  }
}

}  // namespace orrery
