// SPDX-License-Identifier: MIT
#include "network/config/matrix.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/config/quantity_text.h"

namespace orrery::network {
namespace {

constexpr std::size_t kLevels = 4;  // PIX, PXB, PHB, NODE: what is further is SYS

constexpr std::array<std::string_view, kLevels> kLevelNames = {"switch", "upstream", "bridge", "socket"};
constexpr std::array<MatrixPath, kLevels> kLevelPaths = {MatrixPath::kPix, MatrixPath::kPxb, MatrixPath::kPhb,
                                                         MatrixPath::kNode};

enum LinkClass : std::uint32_t { kPcieLink, kBridgeLink, kSocketLink, kNvlinkLink };

// For each level, the group of every member: the lowest member that it shares something of that level with.
using Groups = std::array<std::vector<std::uint32_t>, kLevels>;

void merge(std::vector<std::uint32_t>& group, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t low = std::min(group[a], group[b]);
  const std::uint32_t high = std::max(group[a], group[b]);
  if (low != high) std::ranges::replace(group, high, low);
}

Groups groups_of(const TopologyMatrix& matrix) {
  Groups groups;
  std::vector<std::uint32_t> group(matrix.members());
  std::iota(group.begin(), group.end(), 0U);
  for (std::size_t level = 0; level < kLevels; ++level) {
    for (std::uint32_t a = 0; a < matrix.members(); ++a)
      for (std::uint32_t b = 0; b < a; ++b)
        if (matrix.at(a, b).path == kLevelPaths[level]) merge(group, a, b);
    groups[level] = group;
  }
  return groups;
}

// The processors near to a GPU tell the socket of those that NVLink hides, unless the matrix says they are apart.
void merge_by_affinity(const TopologyMatrix& matrix, std::vector<std::uint32_t>& sockets) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> apart;  // sockets
  const auto find_apart = [&] {
    apart.clear();
    for (std::uint32_t a = 0; a < matrix.members(); ++a)
      for (std::uint32_t b = 0; b < matrix.members(); ++b)
        if (matrix.at(a, b).path == MatrixPath::kSys) apart.insert({sockets[a], sockets[b]});
  };
  find_apart();
  for (std::uint32_t a = 0; a < matrix.devices; ++a)
    for (std::uint32_t b = 0; b < a; ++b) {
      const bool hidden = matrix.at(a, b).path == MatrixPath::kNvlink && sockets[a] != sockets[b];
      const bool near = !matrix.affinity[a].empty() && matrix.affinity[a] == matrix.affinity[b];
      if (!hidden || !near || apart.contains({sockets[a], sockets[b]})) continue;
      merge(sockets, a, b);
      find_apart();
    }
}

class Builder {
 public:
  Builder(const TopologyMatrix& matrix, const MatrixCapacities& capacities, bool with_nics, const std::string& file,
          Diagnostics& diagnostics)
      : matrix_(matrix), capacities_(capacities), file_(file), diagnostics_(diagnostics) {
    spec_.devices = matrix.devices;
    spec_.nics = with_nics ? matrix.nics : 0;
    spec_.link_classes = {"pcie", "host-bridge", "sockets", "nvlink"};
    for (std::uint32_t i = 0; i < spec_.devices; ++i) spec_.vertices.push_back(fmt::format("gpu{}", i));
    for (std::uint32_t i = 0; i < spec_.nics; ++i) spec_.vertices.push_back(fmt::format("nic{}", i));
  }

  GraphSpec build() {
    const std::size_t errors = diagnostics_.error_count();
    groups_ = groups_of(matrix_);
    merge_by_affinity(matrix_, groups_.back());
    check_groups();
    if (diagnostics_.error_count() != errors) return {};
    add_pcie();
    add_nvlink();
    return diagnostics_.error_count() == errors ? std::move(spec_) : GraphSpec{};
  }

 private:
  void error(std::uint32_t row, std::string message, std::string hint) {
    diagnostics_.error({file_, matrix_.lines[row], 1}, std::move(message), std::move(hint));
  }

  // Sharing a switch, a bridge or a socket is transitive.
  void check_groups() {
    for (std::size_t level = 0; level < kLevels; ++level)
      for (std::uint32_t a = 0; a < matrix_.members(); ++a)
        for (std::uint32_t b = 0; b < a; ++b) {
          const MatrixPath path = matrix_.at(a, b).path;
          const bool further = path != MatrixPath::kNvlink && path > kLevelPaths[level];
          if (further && groups_[level][a] == groups_[level][b])
            return error(a,
                         fmt::format("this row has the {} and the {} of the matrix further apart than others say that "
                                     "both are near to",
                                     ordinal(a), ordinal(b)),
                         "who shares a switch, bridge or socket with the same third shares it with each other");
        }
  }

  std::string ordinal(std::uint32_t member) const {
    return member < matrix_.devices ? fmt::format("GPU {}", member) : fmt::format("NIC {}", member - matrix_.devices);
  }

  std::uint32_t add_vertex(std::string name) {
    spec_.vertices.push_back(std::move(name));
    return spec_.vertex_count() - 1;
  }

  void join(std::uint32_t a, std::uint32_t b, LinkClass link_class, const MatrixCapacity& link, Duration latency) {
    spec_.links.push_back({a, b, link_class, link.bandwidth, latency, 1, link.efficiency});
    spec_.links.push_back({b, a, link_class, link.bandwidth, latency, 1, link.efficiency});
  }

  // `from` is a vertex of a level (a member: -1) whose link leads up.
  void join_up(std::uint32_t from, int level, std::uint32_t to) {
    if (level == 2)
      join(from, to, kBridgeLink, capacities_.host_bridge, capacities_.host_bridge.latency);
    else if (level == 3)
      join(from, to, kSocketLink, capacities_.sockets, capacities_.sockets.latency / 2);
    else
      join(from, to, kPcieLink, capacities_.pcie, capacities_.pcie.latency);
  }

  // Vertex that stands for a group of the level below, and the level of that group.
  struct Top {
    std::uint32_t vertex = 0;
    int level = -1;
  };

  // Level by level: the tops of the groups that a higher group takes together. A switch that joins nothing is left out;
  // a bridge or socket is there wherever there are several of its kind one level up.
  void add_pcie() {
    std::map<std::uint32_t, Top> tops;  // by group
    for (std::uint32_t member = 0; member < spec_.members(); ++member) tops[member] = {member, -1};
    std::array<std::uint32_t, kLevels> counts{};
    for (int level = 0; level < static_cast<int>(kLevels); ++level) {
      std::map<std::uint32_t, std::vector<Top>> below;
      for (const auto& [member, top] : tops) below[groups_[static_cast<std::size_t>(level)][member]].push_back(top);
      std::map<std::uint32_t, Top> above;
      for (const auto& [group, parts] : below) {
        const bool needed = parts.size() > 1 || has_siblings(level, group, below);
        if (!needed) {
          above[group] = parts.front();
          continue;
        }
        const auto index = static_cast<std::size_t>(level);
        const std::uint32_t vertex = add_vertex(fmt::format("{}{}", kLevelNames[index], counts[index]++));
        for (const Top& part : parts) join_up(part.vertex, part.level, vertex);
        above[group] = {vertex, level};
      }
      tops = std::move(above);
    }
    if (tops.size() < 2) return;
    const std::uint32_t middle = add_vertex("interconnect");
    for (const auto& [group, top] : tops) join_up(top.vertex, top.level, middle);
  }

  bool has_siblings(int level, std::uint32_t group, const std::map<std::uint32_t, std::vector<Top>>& groups) const {
    if (level < 2) return false;
    const bool socket = level == 3;
    return std::ranges::any_of(groups, [&](const auto& other) {
      return other.first != group && (socket || groups_[3][other.first] == groups_[3][group]);
    });
  }

  void add_nvlink() {
    for (std::uint32_t device = 0; device < matrix_.devices; ++device) {
      std::vector<std::uint32_t> peers;
      std::uint32_t links = 0;
      for (std::uint32_t other = 0; other < matrix_.devices; ++other) {
        if (matrix_.at(device, other).path != MatrixPath::kNvlink) continue;
        peers.push_back(other);
        links += matrix_.at(device, other).links;
      }
      if (links > capacities_.nvlinks)
        add_to_nvswitch(device, peers);
      else
        add_direct(device, peers);
    }
  }

  std::optional<MatrixCapacity> trunk(std::uint32_t device, std::uint32_t links) {
    MatrixCapacity trunk = capacities_.nvlink;
    if (trunk.bandwidth <= Bandwidth(Bandwidth::max().count() / links)) {
      trunk.bandwidth = trunk.bandwidth * links;
      return trunk;
    }
    error(device, fmt::format("{} links of {} make more than can be counted", links, to_text(trunk.bandwidth)), "");
    return std::nullopt;
  }

  void add_direct(std::uint32_t device, const std::vector<std::uint32_t>& peers) {
    for (const std::uint32_t peer : peers) {
      if (peer > device) continue;  // both ways at once
      if (const auto link = trunk(device, matrix_.at(device, peer).links))
        join(peer, device, kNvlinkLink, *link, link->latency);
    }
  }

  // All GPUs of an NVSwitch reach each other over all their links.
  void add_to_nvswitch(std::uint32_t device, const std::vector<std::uint32_t>& peers) {
    const std::uint32_t links = matrix_.at(device, peers.front()).links;
    std::uint32_t first = device;
    for (const std::uint32_t peer : peers) {
      first = std::min(first, peer);
      bool same = matrix_.at(device, peer).links == links;
      for (const std::uint32_t other : peers)
        if (other != peer) same = same && matrix_.at(peer, other) == matrix_.at(device, peer);
      if (!same)
        return error(device,
                     fmt::format("GPU {} has more than {} NVLinks, so they lead to a switch, but not all GPUs on it "
                                 "reach each other over NV{}",
                                 device, capacities_.nvlinks, links),
                     "write the links out with `links` instead");
    }
    const auto [known, fresh] = nvswitch_.try_emplace(first, 0);
    if (fresh) known->second = add_vertex(fmt::format("nvswitch{}", nvswitch_.size() - 1));
    if (const auto link = trunk(device, links)) join(device, known->second, kNvlinkLink, *link, link->latency / 2);
  }

  const TopologyMatrix& matrix_;
  const MatrixCapacities& capacities_;
  const std::string& file_;
  Diagnostics& diagnostics_;
  GraphSpec spec_;
  Groups groups_;
  std::map<std::uint32_t, std::uint32_t> nvswitch_;  // by its lowest GPU
};

}  // namespace

GraphSpec graph_of(const TopologyMatrix& matrix, const MatrixCapacities& capacities, bool with_nics,
                   const std::string& file, Diagnostics& diagnostics) {
  return Builder(matrix, capacities, with_nics, file, diagnostics).build();
}

}  // namespace orrery::network
