// SPDX-License-Identifier: MIT
#include "tests/system/random_jobs.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "network/fabric/link_names.h"
#include "tests/system/small_jobs.h"

namespace orrery::test {
namespace {

using Random = std::mt19937_64;

std::uint32_t below(Random& random, std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

template <class T>
const T& one_of(Random& random, const std::vector<T>& choices) {
  return choices[random() % choices.size()];
}

std::string dimension_text(Random& random, std::uint32_t size) {
  const std::vector<std::string> topologies = {"switch", "ring", "fully-connected"};
  return fmt::format("{{topology: {}, size: {}, bandwidth: {} GB/s, latency: {} ns}}", one_of(random, topologies), size,
                     one_of<int>(random, {1, 7, 25, 300}), one_of<int>(random, {0, 1, 700, 2001}));
}

// A star of which one link is slow.
std::string lopsided_star(Random& random, std::uint32_t size) {
  std::string links;
  for (std::uint32_t i = 0; i < size; ++i)
    links += fmt::format("{}{{from: gpu{}, to: hub, bandwidth: {} GB/s, latency: 1 us}}", i == 0 ? "" : ", ", i,
                         i == 1 ? one_of<int>(random, {5, 10}) : 10);
  return fmt::format("{{topology: edge-list, links: [{}]}}", links);
}

std::string cluster_text(Random& random, std::uint32_t& ranks) {
  const std::uint32_t a = 2 + below(random, 4), b = 2 + below(random, 3);
  const std::string ports = "bandwidth: 10 GB/s, latency: 1 us";
  switch (below(random, 7)) {
    case 0:
      ranks = a * b;
      return fmt::format("cluster: {{device: a40, dims: [{}, {}]}}", dimension_text(random, a),
                         dimension_text(random, b));
    case 1:
      ranks = a * b;
      return fmt::format(
          "cluster: {{device: a40, dims: [{{topology: fat-tree, size: {}, {}, leaf_ports: {}, "
          "oversubscription: {}, trunk_latency: 300 ns}}]}}",
          ranks, ports, 2 + below(random, 3), 1 + below(random, 3));
    case 2:
      ranks = a * b;
      return fmt::format("cluster: {{device: a40, dims: [{{topology: {}, sizes: [{}, {}], {}}}]}}",
                         below(random, 2) == 0 ? "torus" : "mesh", a, b, ports);
    case 3:
      ranks = a * b;
      return fmt::format("cluster: {{device: a40, dims: [{}]}}", lopsided_star(random, ranks));
    case 4:
      ranks = 16;
      return fmt::format("cluster: {}\nnodes: 2",
                         one_of<std::string>(random, {"dgx-a100", "dgx-1v", "a40-pcie", "hgx-a800"}));
    case 5:
      ranks = 8;
      return fmt::format("cluster: {}\nnodes: 1",
                         one_of<std::string>(random, {"dgx-1p", "dgx-1v", "rtx4090-pcie", "mi300x-8"}));
    default:
      ranks = a * b * 2;
      return fmt::format("cluster: {{device: a40, dims: [{}, {}, {}]}}", dimension_text(random, a),
                         dimension_text(random, b), dimension_text(random, 2));
  }
}

// Members by row and column of a grid of ranks.
struct Groups {
  std::vector<GroupId> row;  // of each rank
  std::vector<GroupId> column;
  std::vector<std::vector<std::uint32_t>> row_members;
  std::uint32_t width = 1;
};

Groups make_groups(Random& random, JobBuilder& builder, std::uint32_t ranks) {
  Groups groups;
  std::vector<std::uint32_t> widths;
  for (std::uint32_t w = 1; w <= ranks; ++w)
    if (ranks % w == 0) widths.push_back(w);
  groups.width = one_of(random, widths);
  const std::uint32_t height = ranks / groups.width;
  std::vector<GroupId> rows, columns;
  for (std::uint32_t y = 0; y < height; ++y) {
    groups.row_members.emplace_back();
    for (std::uint32_t x = 0; x < groups.width; ++x) groups.row_members.back().push_back(y * groups.width + x);
    rows.push_back(builder.group(fmt::format("row{}", y), groups.row_members.back()));
  }
  for (std::uint32_t x = 0; x < groups.width; ++x) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t y = 0; y < height; ++y) members.push_back(y * groups.width + x);
    columns.push_back(builder.group(fmt::format("column{}", x), members));
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    groups.row.push_back(rows[rank / groups.width]);
    groups.column.push_back(columns[rank % groups.width]);
  }
  return groups;
}

// One operation of the program, on all ranks. `after` are the nodes that it waits for, by rank.
class Program {
 public:
  Program(Random& random, JobBuilder& builder, std::uint32_t ranks, bool has_hosts, bool has_bounds)
      : random_(random),
        builder_(builder),
        ranks_(ranks),
        has_hosts_(has_hosts),
        has_bounds_(has_bounds),
        groups_(make_groups(random, builder, ranks)),
        last_(ranks) {}

  void compute(Duration time, std::uint32_t late_rank, Duration late) {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank)
      add(rank,
          builder_.launched(rank, rank == late_rank ? time + late : time, host_of(time), after(rank), bound_of(time)));
  }

  // Share of its time that a computation is bound by multiprocessors, if it is known: of three quarters of them.
  std::optional<std::uint32_t> bound_of(Duration time) const {
    const std::int64_t kind = time.count() % 4;
    if (!has_bounds_ || kind == 3) return std::nullopt;
    return static_cast<std::uint32_t>(kind) * (workload::kWholeShare / 2);
  }

  // Two thirds of the computations have a host that launches them, some of which takes longer than they do, and which
  // waits for every fifth.
  workload::HostWork host_of(Duration time) const {
    const std::int64_t kind = time.count() % 15;
    if (!has_hosts_ || kind % 3 == 0) return {};
    const Duration launches = kind % 3 == 1 ? time / 4 : 2 * time;
    return {launches, launches + time, kind % 5 == 0};
  }

  void collective() {
    const std::vector<CollectiveKind> kinds(kAllCollectiveKinds.begin(), kAllCollectiveKinds.end());
    const CollectiveKind kind = one_of(random_, kinds);
    const Bytes bytes(one_of<std::int64_t>(random_, {0, 1, 999, 100'003, 4'000'000}));
    const std::uint32_t where = below(random_, 3);
    const bool synchronises = has_hosts_ && below(random_, 6) == 0;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const GroupId group = where == 0 ? kWorld : where == 1 ? groups_.row[rank] : groups_.column[rank];
      add(rank, builder_.collective(rank, kind, bytes, group, after(rank), 0, synchronises));
    }
  }

  // Work of the hosts themselves, which mostly launch what comes behind it only when it is done.
  void host_work(Duration time) {
    const bool synchronises = below(random_, 3) > 0;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) add(rank, builder_.host(rank, time, after(rank), synchronises));
  }

  // Everybody sends to the rank `distance` further and receives from the one before.
  void shift() {
    const std::uint32_t distance = 1 + below(random_, ranks_ - 1);
    const Bytes bytes(one_of<std::int64_t>(random_, {1, 100'003, 2'000'000}));
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const std::vector<NodeId> before = after(rank);
      add(rank, builder_.send(rank, (rank + distance) % ranks_, bytes, before, tag_));
      add(rank, builder_.receive(rank, (rank + ranks_ - distance) % ranks_, bytes, before, tag_));
    }
    ++tag_;
  }

  // In every row all send to the first, or the first sends to all, one after the other or at once.
  void star() {
    const bool inward = below(random_, 2) == 0, at_once = below(random_, 2) == 0;
    const Bytes bytes(one_of<std::int64_t>(random_, {100'003, 2'000'000}));
    for (const std::vector<std::uint32_t>& row : groups_.row_members) {
      const std::uint32_t hub = row.front();
      const std::vector<NodeId> hub_before = after(hub);
      std::vector<NodeId> before = hub_before;
      for (std::size_t i = 1; i < row.size(); ++i) {
        const std::vector<NodeId> leaf_before = after(row[i]);
        if (inward) {
          add(row[i], builder_.send(row[i], hub, bytes, leaf_before, tag_));
          add(hub, builder_.receive(hub, row[i], bytes, hub_before, tag_));
        } else {
          const NodeId send = builder_.send(hub, row[i], bytes, before, tag_);
          add(hub, send);
          add(row[i], builder_.receive(row[i], hub, bytes, leaf_before, tag_));
          if (!at_once) before = {send};
        }
      }
    }
    ++tag_;
  }

  // What comes waits for all that was, or for nothing.
  void next() {
    waits_ = below(random_, 3) > 0;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      if (!fresh_.empty() && !fresh_[rank].empty()) last_[rank] = fresh_[rank];
    }
    fresh_.assign(ranks_, {});
  }

 private:
  std::vector<NodeId> after(std::uint32_t rank) const { return waits_ ? last_[rank] : std::vector<NodeId>{}; }
  void add(std::uint32_t rank, NodeId node) { fresh_[rank].push_back(node); }

  Random& random_;
  JobBuilder& builder_;
  std::uint32_t ranks_;
  bool has_hosts_;
  bool has_bounds_;
  Groups groups_;
  std::vector<std::vector<NodeId>> last_;
  std::vector<std::vector<NodeId>> fresh_;
  std::int64_t tag_ = 0;
  bool waits_ = false;
};

}  // namespace

RandomMachine random_machine(Random& random) {
  RandomMachine machine;
  machine.text = cluster_text(random, machine.ranks);
  machine.text += fmt::format("\nnetwork: {{model: {}, granularity: {}, routing: {}}}",
                              one_of<std::string>(random, {"flow", "flow", "alpha-beta"}),
                              one_of<std::string>(random, {"step", "step", "phase"}),
                              one_of<std::string>(random, {"spray", "spray", "deterministic", "ecmp"}));
  machine.text += fmt::format("\ncollectives: {{chunks: {}, queue: {}, active_chunks: {}", 1 + below(random, 4),
                              one_of<std::string>(random, {"fifo", "lifo"}), 1 + below(random, 2));
  machine.text +=
      fmt::format(", dimension_order: {}, queue_scope: {}}}\n", one_of<std::string>(random, {"baseline", "themis"}),
                  one_of<std::string>(random, {"collective", "collective", "rank"}));
  return machine;
}

experiment::Experiment read_machine_text(const std::string& text) {
  Diagnostics diagnostics;
  const ConfigFiles files(std::filesystem::path(ORRERY_SOURCE_DIR) / "configs");
  ConfigValue root = parse_config(text, "machine.yaml", diagnostics);
  diagnostics.throw_if_errors();
  return experiment::read_machine("machine.yaml", std::move(root), files, diagnostics);
}

void slow_a_link(Random& random, network::Fabric& fabric) {
  if (below(random, 3) > 0) return;
  const LinkId link{below(random, fabric.link_count())};
  fabric.set_bandwidth(link, Bandwidth(fabric.link(link).bandwidth.count() / (2 + below(random, 3))));
}

void kill_a_nic(Random& random, network::Fabric& fabric) {
  if (below(random, 3) > 0) return;
  std::vector<std::string> nics;
  for (std::uint32_t vertex = 0; vertex < fabric.vertex_count(); ++vertex)
    if (const std::string name = fabric.vertex_name(network::VertexId(vertex)); name.find(".nic") != std::string::npos)
      nics.push_back(name);
  const bool is_spare = std::ranges::any_of(nics, [](const std::string& name) { return name.ends_with("nic1"); });
  if (is_spare) fabric.remove_links(network::links_named(fabric, one_of(random, nics)));
}

void change_links(Random& random, network::Fabric& fabric) {
  for (std::uint32_t i = below(random, 3); i < 3; ++i) {
    network::LinkCourse course;
    std::vector<network::BandwidthStep> steps;
    Time time{};
    for (std::uint32_t count = below(random, 4); count > 0; --count) {
      time += Duration(1 + below(random, 400) * std::int64_t{1'000'000});
      steps.push_back({time, Efficiency(10'000 + 10'000 * below(random, 99))});
    }
    if (!steps.empty()) course.steps.push_back(std::move(steps));
    if (below(random, 2) == 0)
      course.traffic.push_back({100'000, 700'000, Duration(50'000'000 + below(random, 1000)), below(random, 9)});
    // One link, or those of its kind from there on.
    const std::uint32_t first = below(random, fabric.link_count());
    const std::uint32_t kind = fabric.kind_of(LinkId(first));
    const std::uint32_t end = below(random, 2) == 0 ? first + 1 : fabric.link_count();
    for (std::uint32_t link = first; link < end && fabric.kind_of(LinkId(link)) == kind; ++link)
      if (course != network::LinkCourse()) fabric.add_course(LinkId(link), course);
  }
}

system::Perturbation random_perturbation(Random& random, std::uint32_t ranks) {
  system::Perturbation perturbation;
  const system::TimeFactor compute(one_of<std::int64_t>(random, {500'000, 1'300'000, 2'000'001}));
  const Duration start(one_of<std::int64_t>(random, {1, 700'000, 1'400'000, 20'000'000}));
  // One rank, every so many, or a row of them.
  const std::uint32_t step = 1 + below(random, ranks), first = below(random, ranks);
  for (std::uint32_t rank = first; rank < ranks; rank += step) {
    system::RankPerturbation& perturbed = perturbation.ranks[RankId(rank)];
    if (below(random, 4) > 0) perturbed.compute = compute;
    if (below(random, 4) > 0) perturbed.start = start;
  }
  if (below(random, 3) == 0)
    perturbation.jitter = {one_of<system::JitterUnit>(random, {system::JitterUnit::kNode, system::JitterUnit::kRank,
                                                               system::JitterUnit::kOperation}),
                           one_of<std::int64_t>(random, {1'000, 50'000, 1'000'000}), below(random, 100)};
  return perturbation;
}

workload::Job random_job(Random& random, std::uint32_t ranks, bool with_hosts, bool with_bounds) {
  JobBuilder builder(ranks);
  Program program(random, builder, ranks, with_hosts, with_bounds);
  const std::uint32_t operations = 2 + below(random, 6);
  const std::uint32_t late_rank = below(random, 2) == 0 ? below(random, ranks) : UINT32_MAX;
  const std::uint32_t late_at = below(random, operations);
  for (std::uint32_t i = 0; i < operations; ++i) {
    program.next();
    if (i == late_at || below(random, 4) == 0) {
      // Now and then so that much starts in one instant, or in several rounds of it.
      program.compute(Duration(one_of<std::int64_t>(random, {1, 1'400'000, 1 + below(random, 50'000'000)})),
                      i == late_at ? late_rank : UINT32_MAX,
                      Duration(one_of<std::int64_t>(random, {700'000, 1 + below(random, 100'000'000)})));
      continue;
    }
    switch (below(random, with_hosts ? 5 : 4)) {
      case 4:
        program.host_work(Duration(1 + below(random, 20'000'000)));
        break;
      case 0:
        program.shift();
        break;
      case 1:
        program.star();
        break;
      default:
        program.collective();
    }
  }
  return builder.build();
}

}  // namespace orrery::test
