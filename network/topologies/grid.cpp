// SPDX-License-Identifier: MIT
// Torus and mesh: a grid whose first axis varies fastest. A torus closes each axis to a ring (an axis of two has one
// link each way), a mesh leaves the ends open. Messages go axis by axis, the first first, the shortest way along each,
// and up where both ways round are equally long.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/config/config.h"
#include "core/config/quantity_text.h"
#include "network/fabric/topology.h"
#include "network/fabric/topology_config.h"

namespace orrery::network {
namespace {

constexpr std::array<std::string_view, 6> kClasses = {"axis0", "axis1", "axis2", "axis3", "axis4", "axis5"};
static_assert(kClasses.size() == kMostAxes);

enum class Ends { kClosed, kOpen };

// One axis: its lines, and the links of each. Line l's links stand together: those up, then those down.
struct Axis {
  std::uint32_t size = 1;
  std::uint32_t stride = 1;  // between neighbours
  std::uint32_t first_link = 0;
  std::uint32_t up_links = 0;  // of a line, and as many down

  std::uint32_t coordinate(std::uint32_t member) const { return member / stride % size; }
  std::uint32_t line(std::uint32_t member) const { return member / stride / size * stride + member % stride; }
  std::uint32_t member(std::uint32_t line, std::uint32_t coordinate) const {
    return (line / stride * size + coordinate) * stride + line % stride;
  }
  // A link up is numbered by where it starts, a link down by where it ends.
  std::uint32_t up(std::uint32_t line, std::uint32_t lower) const { return first_link + 2 * up_links * line + lower; }
  std::uint32_t down(std::uint32_t line, std::uint32_t lower) const { return up(line, lower) + up_links; }
};

// Calls `visit` with each axis in order until it returns true.
template <Ends ends, class Visit>
void each_axis(const TopologyParameters& p, const Visit& visit) {
  Axis axis;
  for (std::size_t i = 0; i < p.own.sizes.size(); ++i) {
    axis.size = p.own.sizes[i];
    axis.up_links = ends == Ends::kOpen || axis.size < 3 ? axis.size - 1 : axis.size;
    if (visit(i, axis)) return;
    axis.first_link += 2 * axis.up_links * (p.size / axis.size);
    axis.stride *= axis.size;
  }
}

std::uint32_t switches(const TopologyParameters&) { return 0; }

template <Ends ends>
std::uint64_t links(const TopologyParameters& p) {
  std::uint64_t links = 0;
  each_axis<ends>(p, [&](std::size_t, const Axis& axis) {
    links += 2 * std::uint64_t{axis.up_links} * (p.size / axis.size);
    return false;
  });
  return links;
}

Bandwidth bandwidth_along(const TopologyParameters& p, std::size_t axis) {
  if (p.own.axis_shares.empty()) return p.bandwidth;
  const double rate = static_cast<double>(p.bandwidth.count()) * p.own.axis_shares[axis];
  return Bandwidth(std::max<std::int64_t>(1, std::llround(rate)));
}

template <Ends ends>
TopologyLink link(const TopologyParameters& p, std::uint32_t link) {
  TopologyLink found;
  each_axis<ends>(p, [&](std::size_t i, const Axis& axis) {
    const std::uint32_t offset = link - axis.first_link;
    if (offset >= 2 * axis.up_links * (p.size / axis.size)) return false;
    const std::uint32_t line = offset / (2 * axis.up_links);
    const std::uint32_t in_line = offset % (2 * axis.up_links);
    const std::uint32_t lower = in_line % axis.up_links;
    const std::uint32_t low = axis.member(line, lower);
    const std::uint32_t high = axis.member(line, (lower + 1) % axis.size);
    const bool up = in_line < axis.up_links;
    found = {up ? low : high, up ? high : low, static_cast<std::uint32_t>(i), bandwidth_along(p, i), p.latency};
    return true;
  });
  return found;
}

template <Ends ends>
void route(const TopologyParameters& p, std::uint32_t from, std::uint32_t to, RouteBuilder& route) {
  std::uint32_t at = from;
  each_axis<ends>(p, [&](std::size_t, const Axis& axis) {
    const std::uint32_t here = axis.coordinate(at);
    const std::uint32_t there = axis.coordinate(to);
    const std::uint32_t line = axis.line(at);
    const std::uint32_t upward = there >= here ? there - here : there + axis.size - here;
    const bool up = ends == Ends::kOpen || axis.size < 3 ? there > here : upward <= axis.size - upward;
    for (std::uint32_t c = here; c != there;) {
      const std::uint32_t next = up ? (c + 1) % axis.size : (c + axis.size - 1) % axis.size;
      route.cross(up ? axis.up(line, c) : axis.down(line, next));
      c = next;
    }
    at = axis.member(line, there);
    return false;
  });
}

template <Ends ends>
std::vector<GridAxis> axes(const TopologyParameters& p) {
  std::vector<GridAxis> axes;
  each_axis<ends>(p, [&](std::size_t, const Axis& axis) {
    axes.push_back({axis.size, ends == Ends::kClosed});
    return false;
  });
  return axes;
}

template <Ends ends>
constexpr TopologyShape shape() {
  return {kClasses, switches, links<ends>, link<ends>, route<ends>, nullptr, nullptr, axes<ends>};
}

}  // namespace

extern constinit const TopologyShape kMeshShape = shape<Ends::kOpen>();
extern constinit const TopologyShape kTorusShape = shape<Ends::kClosed>();

void read_grid(Section& section, const Members&, TopologyOwn& own) {
  read_sizes(section, own);
  const std::vector<std::string> shares =
      section.words("axis_shares",
                    "mesh, torus: share of `bandwidth` that links along each axis have; without it, all have all of "
                    "it. Example: `[100 %, 100 %, 50 %]`");
  if (shares.empty()) return;
  if (shares.size() != own.sizes.size())
    section.error("axis_shares", fmt::format("{} shares for {} axes", shares.size(), own.sizes.size()),
                  "one for each of `sizes`");
  for (const std::string& text : shares) {
    const Parsed<double> share = parse_share(text);
    if (!share.value) return section.error("axis_shares", share.problem, share.hint);
    if (*share.value <= 0 || *share.value > 1)
      return section.error("axis_shares", fmt::format("'{}' is no share of the bandwidth", printable(text, 40)),
                           "above 0 %, at most 100 %: `bandwidth` is that of the fastest links");
    own.axis_shares.push_back(*share.value);
  }
  own.axis_shares.resize(own.sizes.size(), 1);
}

}  // namespace orrery::network
