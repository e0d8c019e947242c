// SPDX-License-Identifier: MIT
#include "report/path/culprits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/error.h"
#include "network/fabric/link_names.h"
#include "report/parts.h"

namespace orrery::report {
namespace {

constexpr std::size_t kMost = 3;
constexpr double kLeastCost = 0.005;    // of the time
constexpr double kLeastBeside = 0.1;    // of the first one's cost
constexpr double kLeastSlower = 1.005;  // than the peers

// Kinds of culprits; one name can have several: a rank that is slow and late.
enum class Kind : std::uint8_t { kLate, kRanks, kHosts, kHostWork, kLink, kLinks };

Duration part_of(Duration time, double share) {
  return Duration(static_cast<std::int64_t>(static_cast<double>(time.count()) * share));
}

// Tells whether nodes of a kind are the work of hosts, or that of devices and memory.
bool is_host_work(workload::NodeKind kind) { return kind == workload::NodeKind::kHostCompute; }
bool is_device_work(workload::NodeKind kind) {
  return kind == workload::NodeKind::kCompute || kind == workload::NodeKind::kMemoryLoad ||
         kind == workload::NodeKind::kMemoryStore;
}

// Time in which the devices of each rank compute; without how long they wait for their host.
std::vector<Duration> computing_times(const workload::Job& job, const Result& result) {
  std::vector<Duration> times;
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const Breakdown& own = result.classes[result.class_of_rank[rank]];
    times.push_back(own.compute - own.host);
  }
  return times;
}

// Time that the host of each rank takes for its own work, all threads together.
std::vector<Duration> host_work_times(const CulpritSource& source) {
  std::map<RankId, Duration> of_acting;
  const auto sum_of = [&](RankId rank) {
    const workload::ExecutionGraph& graph = source.job.graph(rank);
    Duration sum{};
    const auto take = [&](const system::OperationRecord& operation) {
      if (is_host_work(graph.kind(operation.node))) sum = saturating_add(sum, operation.end - operation.moving);
    };
    source.log.read(rank, take, [&](const RepeatedStretch& stretch) {
      for (const auto& part : stretch.parts()) take(stretch.operation(part));
    });
    return sum;
  };
  std::vector<Duration> times;
  for (const RankId acting : source.acting) {
    const auto [known, is_new] = of_acting.try_emplace(acting);
    if (is_new) known->second = sum_of(acting);
    times.push_back(known->second);
  }
  return times;
}

// Time that the host of each rank takes for all of its launches.
std::vector<Duration> launching_times(const workload::Job& job) {
  std::vector<Duration> of_graph;
  for (const workload::ExecutionGraph& graph : job.graphs) {
    const auto of_nodes = [&](std::uint32_t first, std::uint32_t count) {
      Duration sum{};
      for (std::uint32_t node = first; node < first + count; ++node)
        sum = saturating_add(sum, graph.host(NodeId(node)).launches);
      return sum;
    };
    Duration& all = of_graph.emplace_back();
    for (std::uint32_t number = 0; number < graph.amount_numbers(); ++number)
      all = saturating_multiply_add(all, graph.host(graph.first_node(number)).launches, graph.nodes_of(number));
    std::vector<Duration> of_stretch;
    for (const workload::Stretch& stretch : graph.stretches())
      of_stretch.push_back(of_nodes(index_of(stretch.first), stretch.count));
    for (std::uint32_t node = 0; node < graph.size() && !of_stretch.empty(); ++node)
      if (const auto repetition = graph.repetition(NodeId(node)); repetition && !repetition->is_rest)
        all = saturating_add(all, of_stretch[repetition->stretch]);
  }
  std::vector<Duration> times;
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) times.push_back(of_graph[job.ranks.graph(rank)]);
  return times;
}

// Ranks that have the same to do, but for how much: peers run one program, or programs of the same operations.
class Peers {
 public:
  // `time_of`: by rank, what they are compared by.
  Peers(const workload::Job& job, std::vector<Duration> time_of) : job_(job), time_of_(std::move(time_of)) {
    std::map<std::uint64_t, std::uint32_t> of_names;
    const workload::RankBindings& bindings = job_.ranks;
    for (std::uint32_t i = 0; i < bindings.size() / bindings.period().count; ++i) {
      const std::uint32_t rank = bindings.period().at(i), graph = bindings.graph(rank);
      const auto [known, is_new] = of_names.try_emplace(job_.labels[bindings.labels(rank)].content_hash(), graph);
      key_of_graph_.try_emplace(graph, known->second);
    }
    std::map<std::uint32_t, std::map<Duration, std::pair<std::size_t, RankId>>> times;
    for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
      auto& [count, first] = times[key(RankId(rank))].try_emplace(time(RankId(rank)), 0, RankId(rank)).first->second;
      ++count;
    }
    for (const auto& [key, of_key] : times) {
      std::size_t all = 0, before = 0;
      for (const auto& [time, ranks] : of_key) all += ranks.first;
      for (const auto& [time, ranks] : of_key) {
        if (2 * (before += ranks.first) < all) continue;
        usual_.emplace(key, ranks.second);
        break;
      }
    }
  }

  // The first of those that take as long as the median of the rank's peers.
  RankId usual(RankId rank) const { return usual_.at(key(rank)); }
  // Ratio of the rank's time to the usual one.
  double slowness(RankId rank) const {
    const Duration usual_time = time(usual(rank));
    return usual_time > Duration::zero() ? seconds(time(rank)) / seconds(usual_time) : 1;
  }
  // The peers that take as long as the rank.
  std::vector<std::size_t> alike(RankId rank) const {
    std::vector<std::size_t> ranks;
    for (std::uint32_t other = 0; other < job_.ranks.size(); ++other)
      if (key(RankId(other)) == key(rank) && time(RankId(other)) == time(rank)) ranks.push_back(other);
    return ranks;
  }

 private:
  Duration time(RankId rank) const { return time_of_[index_of(rank)]; }
  std::uint32_t key(RankId rank) const { return key_of_graph_.at(job_.ranks.graph(index_of(rank))); }

  const workload::Job& job_;
  std::vector<Duration> time_of_;
  std::map<std::uint32_t, std::uint32_t> key_of_graph_;
  std::map<std::uint32_t, RankId> usual_;  // by key
};

class Search {
 public:
  Search(const CriticalPath& path, const Result& result, const CulpritSource& source)
      : path_(path), result_(result), source_(source) {}

  std::vector<Culprit> run() {
    find_late_ranks();
    find_slow_ranks();
    find_slow_links();
    find_saturated_links();
    std::vector<Culprit> found;
    for (auto& [key, culprit] : found_)
      if (seconds(culprit.cost) >= kLeastCost * whole()) found.push_back(std::move(culprit));
    std::ranges::stable_sort(found, std::ranges::greater{}, &Culprit::cost);
    if (found.size() > kMost) found.resize(kMost);
    while (!found.empty() && seconds(found.back().cost) < kLeastBeside * seconds(found.front().cost)) found.pop_back();
    return found;
  }

 private:
  using Slowness = std::map<std::uint32_t, double>;  // by node: of the rank that is least slow

  double whole() const { return seconds(result_.finish.time_since_epoch()); }

  void add(Kind kind, const std::string& name, const std::string& why, Duration time, Duration cost) {
    const auto [known, is_new] = found_.try_emplace(std::pair(kind, name), Culprit{name, why, {}, {}});
    known->second.time += time;
    known->second.cost += cost;
  }

  void find_late_ranks() {
    const std::map<RankId, system::RankPerturbation>& ranks = source_.perturbation.ranks;
    for (const PathOfRank& one : path_.ranks) {
      const auto late = ranks.find(one.rank);
      if (one.late == Duration::zero() || late == ranks.end() || late->second.start == Duration::zero()) continue;
      std::vector<std::size_t> alike;
      for (const auto& [rank, disturbed] : ranks)
        if (disturbed.start == late->second.start) alike.push_back(index_of(rank));
      add(Kind::kLate, name_of(alike), fmt::format("nothing starts before {}", rounded(late->second.start)), one.late,
          one.late);
    }
  }

  void find_slow_ranks() {
    const Peers computing(source_.job, computing_times(source_.job, result_));
    find_slower(
        Kind::kRanks, &PathOfRank::device, computing,
        [&](RankId rank) { return std::max(computing.slowness(rank), factor(rank)); },
        [&](RankId rank, double slowness) { return why_slow("computing", rank, slowness, computing, is_device_work); });
    find_slow_hosts();
  }

  void find_slow_hosts() {
    if (std::ranges::any_of(path_.ranks, [](const PathOfRank& one) { return one.hosting > Duration::zero(); })) {
      const Peers working(source_.job, host_work_times(source_));
      find_slower(
          Kind::kHostWork, &PathOfRank::hosting, working,
          [&](RankId rank) { return std::max(working.slowness(rank), factor(rank)); },
          [&](RankId rank, double slowness) {
            return why_slow("the host's own work", rank, slowness, working, is_host_work);
          });
    }
    const Peers launching(source_.job, launching_times(source_.job));
    find_slower(
        Kind::kHosts, &PathOfRank::launching, launching, [&](RankId rank) { return launching.slowness(rank); },
        [&](RankId, double slowness) { return slower_text("the host's launching of kernels", slowness, "on peers"); });
  }

  // Ranks that are slower than their peers at what they do for a part of the path.
  template <class Part, class SlownessOf, class Why>
  void find_slower(Kind kind, const Part& part_of_rank, const Peers& peers, const SlownessOf& slowness_of,
                   const Why& why) {
    std::optional<Slowness> of_nodes;
    for (const PathOfRank& one : path_.ranks) {
      const Duration part = std::invoke(part_of_rank, one);
      if (part == Duration::zero()) continue;
      const double slowness = slowness_of(one.rank);
      const Duration cost = part_of(part, 1 - 1 / std::max(slowness, 1.0));
      if (slowness < kLeastSlower || cost == Duration::zero()) continue;
      if (!of_nodes) of_nodes = slowness_of_nodes(slowness_of);
      add(kind, name_of_slow(one.rank, slowness, peers, *of_nodes), why(one.rank, slowness), part, cost);
    }
  }

  // Factor by which the configuration slows the rank.
  double factor(RankId rank) const {
    const auto found = source_.perturbation.ranks.find(rank);
    return found == source_.perturbation.ranks.end() ? 1 : static_cast<double>(found->second.compute.count()) / 1e6;
  }

  template <class SlownessOf>
  Slowness slowness_of_nodes(const SlownessOf& slowness_of) const {
    Slowness least;
    if (!source_.fabric.is_of_nodes()) return least;
    for (std::uint32_t rank = 0; rank < source_.placement.size(); ++rank) {
      const double slowness = slowness_of(RankId(rank));
      const auto [known, is_new] = least.try_emplace(node_of(source_.fabric, source_.placement[rank]), slowness);
      known->second = std::min(known->second, slowness);
    }
    return least;
  }

  // A node where all of its ranks are about as slow; else all ranks that are.
  std::string name_of_slow(RankId rank, double slowness, const Peers& peers, const Slowness& of_nodes) const {
    const std::vector<std::size_t> alike = peers.alike(rank);
    if (of_nodes.empty()) return name_of(alike);
    const std::uint32_t node = node_of(source_.fabric, source_.placement[index_of(rank)]);
    std::vector<std::size_t> ranks;
    for (std::uint32_t other = 0; other < source_.placement.size(); ++other)
      if (node_of(source_.fabric, source_.placement[other]) == node) ranks.push_back(other);
    const bool is_elsewhere =
        std::ranges::any_of(alike, [&](std::size_t other) { return std::ranges::find(ranks, other) == ranks.end(); });
    if (ranks.size() < 2 || is_elsewhere || of_nodes.at(node) - 1 < (slowness - 1) / 2) return name_of(alike);
    return fmt::format("node{} ({})", node, name_of(ranks));
  }

  static std::string name_of(std::span<const std::size_t> ranks) {
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", rank_ranges(ranks, 24));
  }

  static std::string slower_text(std::string_view what, double slowness, std::string_view than) {
    return slowness < 2 ? fmt::format("{} takes {} longer than {}", what, short_percent(slowness - 1), than)
                        : fmt::format("{} takes {:.1f} times as long as {}", what, slowness, than);
  }

  // `is_of`: tells whether a kind of nodes is what the ranks are slow at.
  std::string why_slow(std::string_view what, RankId rank, double slowness, const Peers& peers,
                       bool (*is_of)(workload::NodeKind)) const {
    // Only the configuration tells that a rank is slow if most of its peers are slowed alike.
    const std::string_view than = peers.slowness(rank) < kLeastSlower ? "if nothing slowed it" : "on peers";
    const std::string text = slower_text(what, slowness, than);
    const RankId usual = peers.usual(rank);
    if (&source_.job.graph(rank) == &source_.job.graph(usual)) return text;
    return text + operation_to_blame(rank, usual, is_of);
  }

  // ", most of it in 'gemm'": the operation that makes most of what takes longer on this rank, with equal operations of
  // a model's layers counted together, or its share of that; empty where no operation makes a quarter of it.
  std::string operation_to_blame(RankId rank, RankId usual, bool (*is_of)(workload::NodeKind)) const {
    std::map<std::string, Duration> differences;
    const auto take = [&](RankId of, int sign) {
      const workload::ExecutionGraph& graph = source_.job.graph(of);
      for (const system::OperationRecord& operation : source_.log.of(source_.acting[index_of(of)]))
        if (is_of(graph.kind(operation.node)))
          differences[every_layer(source_.job.labels_of(of).name(operation.node))] +=
              sign * (operation.end - operation.moving);
    };
    take(rank, 1);
    take(usual, -1);
    Duration all{};
    for (const auto& [name, difference] : differences) all += std::max(difference, Duration::zero());
    const auto most = std::ranges::max_element(differences, {}, [](const auto& one) { return one.second; });
    if (most == differences.end() || most->second <= Duration::zero() || most->second < all / 4) return {};
    const std::string share = most->second > all / 2
                                  ? "most"
                                  : fmt::format("{:.0f} %", 100 * static_cast<double>(most->second.count()) /
                                                                static_cast<double>(all.count()));
    return fmt::format(", {} of it in '{}'", share, printable(most->first, 40));
  }

  // Share of its nominal bandwidth that a link still has.
  double share_left(const network::Link& link) const {
    const Bandwidth usual = link.nominal * link.efficiency;
    return static_cast<double>(link.bandwidth.count()) / static_cast<double>(usual.count());
  }
  bool is_worse(LinkId link) const {
    return share_left(source_.fabric.link(link)) < 0.995 || !source_.fabric.link(link).is_steady();
  }

  // Links that have lost as much, and are alike in all else, are named together.
  void find_slow_links() {
    std::map<std::uint32_t, PathOfLink> kinds;
    for (const PathOfLink& one : path_.links) {
      if (!is_worse(one.link)) continue;
      PathOfLink& kind = kinds[source_.fabric.kind_of(one.link)];
      kind.moving += one.moving;
      kind.waiting += one.waiting;
    }
    for (const auto& [kind, of_kind] : kinds) {
      std::vector<LinkId> alike;
      for (std::uint32_t link = 0; link < source_.fabric.link_count(); ++link)
        if (source_.fabric.kind_of(LinkId(link)) == kind) alike.push_back(LinkId(link));
      const network::Link& link = source_.fabric.link(alike.front());
      const double left = share_left(link);
      const Duration time = of_kind.moving + of_kind.waiting;
      const std::string why = link.is_steady() ? fmt::format("at {} of {} bandwidth", short_percent(left),
                                                             alike.size() > 1 ? "their" : "its")
                                               : "its bandwidth changes over time";
      add(Kind::kLink, name_of_kind(alike), fmt::format("{}, {} busy", why, short_percent(busy(busiest(alike)))), time,
          link.is_steady() ? part_of(time, 1 - left) : of_kind.waiting);
    }
  }

  // The first of those that are busiest, whatever of them the job does not use.
  LinkId busiest(std::span<const LinkId> alike) const {
    return *std::ranges::max_element(alike, {}, [&](LinkId link) { return busy(link); });
  }

  // `alike`: all links of a kind.
  std::string name_of_kind(std::span<const LinkId> alike) const {
    const std::uint16_t link_class = source_.fabric.link(alike.front()).link_class;
    const std::string& class_name = source_.fabric.link_classes()[link_class];
    const auto whole = std::ranges::find(result_.links, class_name, &LinkClassUse::name);
    if (alike.size() == 1) return name_of_worse(alike.front());
    if (whole != result_.links.end() && whole->count == alike.size()) return "all " + class_name;
    return fmt::format("{} and {} like it", name_of_worse(busiest(alike)), alike.size() - 1);
  }

  // The device, NIC or switch of whose links all have lost as much; else the link.
  std::string name_of_worse(LinkId link) const {
    const network::LinkEnds ends = source_.fabric.ends(link);
    const double left = share_left(source_.fabric.link(link));
    for (const network::VertexId vertex : {ends.from, ends.to}) {
      const std::string name = source_.fabric.vertex_name(vertex);
      const bool are_all_worse = std::ranges::all_of(network::links_named(source_.fabric, name), [&](LinkId other) {
        return is_worse(other) && std::abs(share_left(source_.fabric.link(other)) - left) < 0.001;
      });
      if (are_all_worse) return name;
    }
    return network::name_of(source_.fabric, link);
  }

  double busy(LinkId link) const { return seconds(source_.usage[link].busy) / whole(); }

  // Finds switches that take longer for the traffic of devices and NICs than these do.
  void find_saturated_links() {
    std::map<std::string, PathOfLink> classes;
    for (const PathOfLink& one : path_.links) {
      if (is_worse(one.link) || !source_.fabric.joins_switches(one.link)) continue;
      PathOfLink& sum = classes[source_.fabric.link_classes()[source_.fabric.link(one.link).link_class]];
      sum.moving += one.moving;
      sum.excess += one.excess;
      sum.waiting += one.waiting;
    }
    for (const auto& [name, sum] : classes) {
      const auto use = std::ranges::find(result_.links, name, &LinkClassUse::name);
      const double most = use == result_.links.end() ? 0 : use->most;
      const Duration own = sum.moving - sum.excess;
      std::string why = "slower than";
      if (sum.excess == Duration::zero())
        why = "shared by more than";
      else if (own > Duration::zero())
        why = fmt::format("takes {:.2g} times as long as", seconds(sum.moving) / seconds(own));
      add(Kind::kLinks, name, fmt::format("oversubscribed, {} the links below, {} busy", why, short_percent(most)),
          sum.moving + sum.waiting, sum.excess + sum.waiting);
    }
  }

  const CriticalPath& path_;
  const Result& result_;
  const CulpritSource& source_;
  std::map<std::pair<Kind, std::string>, Culprit> found_;  // by name
};

}  // namespace

std::vector<Culprit> find_culprits(const CriticalPath& path, const Result& result, const CulpritSource& source) {
  return Search(path, result, source).run();
}

}  // namespace orrery::report
