// SPDX-License-Identifier: MIT
// The two analytical network backends.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "astra/engine/messages.h"
#include "astra/engine/translation.h"
#include "astra/input/inputs.h"

namespace orrery::astra {

// The time of one message where nothing is shared: only the first dimension in which the ranks differ counts.
class UnsharedPaths {
 public:
  explicit UnsharedPaths(const NetworkFile& network) : dimensions_(network.dimensions) {}

  // The dimension that counts, and its hops: two numbers that determine the time.
  struct Distance {
    std::uint32_t dimension = 0;
    std::uint32_t hops = 0;
    auto operator<=>(const Distance&) const = default;
  };
  Distance distance(std::uint32_t source, std::uint32_t destination) const;
  const Dimension& dimension(const Distance& distance) const { return dimensions_[distance.dimension]; }

 private:
  std::vector<Dimension> dimensions_;
};

// Called with a parcel that is at its destination.
using Deliver = std::function<void(std::uint32_t parcel)>;

// InputError where the backend cannot have this network. With a translation, a link stands for those to which that
// moves it.
std::unique_ptr<Network> make_network(const Inputs& inputs, const Translation* translation, EventQueue& events,
                                      Deliver deliver);

}  // namespace orrery::astra
