// Communicator families of a regular grid of ranks: all tensor groups, all data groups, and so on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "workload/graph/job.h"

namespace orrery {

// Groups of `size` ranks that are `stride` apart; stride * size divides the number of ranks. Every rank is in one.
struct FamilyShape {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;

  bool operator==(const FamilyShape&) const = default;
};

// The families that a job uses, numbered in the order of their first use: these numbers are the communicator slots of
// its graphs.
class GroupFamilies {
 public:
  // The groups of a family are called "<name>0", "<name>1", ... A second shape of the same name gets its size and
  // stride into its name: "tensor_16x2_0".
  std::uint32_t slot(std::string_view name, FamilyShape shape);

  // The world and the groups of all families into `job.communicators`, and into the binding of each of its ranks.
  void bind(Job& job) const;

 private:
  struct Family {
    std::string name;
    FamilyShape shape;
    std::string prefix;
  };
  std::vector<Family> families_;
};

}  // namespace orrery
