// SPDX-License-Identifier: MIT
#include "experiment/sections.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/config/text.h"
#include "core/files/shell_word.h"
#include "core/hash.h"
#include "core/suggest.h"
#include "network/fabric/link_names.h"

namespace orrery::experiment {
namespace {

constexpr double kMillion = 1e6;

system::TimeFactor out_of_range(Section& section, std::string_view key, double value, const char* hint) {
  section.error(key, fmt::format("{}.{}: {} is out of range", section.path(), key, value), hint);
  return system::kUnchanged;
}

constexpr double kMostFactor = 1e6;

system::TimeFactor read_slowness(Section& section) {
  double slower = 0;
  section.accepts("slower", slower,
                  "how much longer all computations take, in place of `compute`. Example: `10 %` is `compute: 1.1`");
  const ConfigValue* written = section.value("slower");
  if (slower >= 1 && written != nullptr && written->scalar.find('%') == std::string::npos) {
    section.error(
        "slower", fmt::format("{}.slower: {} is no share", section.path(), printable(written->scalar, 40)),
        fmt::format("write {:.6g} % for a factor of {:.6g}, or compute: {:.6g}", 100 * (slower - 1), slower, slower));
    return system::kUnchanged;
  }
  if (!(slower < kMostFactor)) return out_of_range(section, "slower", slower, "a share of the time: 10 %");
  return system::TimeFactor(std::llround((1 + slower) * kMillion));
}

system::TimeFactor read_factor(Section& section) {
  double factor = 1;
  section.takes("compute", factor,
                "factor on the time of all computations of the rank, including host and memory nodes, but not accesses "
                "to `memory.remote`. Example: `1.3` takes 30 % longer");
  const auto millionths = factor <= kMostFactor ? std::llround(factor * kMillion) : 0;
  if (millionths <= 0)
    return out_of_range(section, "compute", factor,
                        "a factor on times: above 0, at most 1000000; 1.3 takes 30 % longer");
  constexpr double kLeastUsual = 0.5, kMostUsual = 10;
  if (factor < kLeastUsual || factor > kMostUsual)
    section.warning("compute",
                    fmt::format("{}.compute: {} makes computations {:.3g} times as {}", section.path(), factor,
                                factor < 1 ? 1 / factor : factor, factor < 1 ? "fast" : "long"),
                    "it is a factor on times: write 1.03 for 3 % longer");
  return system::TimeFactor(millionths);
}

system::RankPerturbation read_slow(const ConfigEntry& entry, Section& section) {
  system::RankPerturbation slow;
  slow.where = entry.where;
  const bool is_share = section.has("slower");
  section.know("compute");
  section.know("slower");
  if (is_share && section.has("compute"))
    section.error("slower", fmt::format("{}: 'compute' and 'slower' say the same", section.path()),
                  "leave one of them out: slower: 10 % is compute: 1.1");
  section.when(!is_share, [&] { slow.compute = read_factor(section); });
  section.when(is_share, [&] { slow.compute = read_slowness(section); });
  section.takes("start", slow.start, "time before which no operation of the rank starts");
  return slow;
}

struct NumberRange {
  std::uint32_t first = 0, last = 0;
};

// "5" or "40-47".
std::optional<NumberRange> range_of(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_whole_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_whole_number(text.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < 0 || *first >= UINT32_MAX || *last >= UINT32_MAX) return std::nullopt;
  return NumberRange{static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last)};
}

constexpr std::uint32_t kUnknown = UINT32_MAX;

// Reads slow ranks or nodes; `what` names them in messages. There are `end` nodes, or devices for as many ranks.
template <class Number>
void read_slow_ones(const ConfigEntry& entry, Section& section, std::string_view what, std::uint32_t end,
                    std::map<Number, system::RankPerturbation>& all) {
  const system::RankPerturbation slow = read_slow(entry, section);
  Diagnostics& diagnostics = section.context().diagnostics();
  const auto range = range_of(entry.key);
  if (!range)
    return diagnostics.error(entry.where, fmt::format("{}: not a {}", section.path(), what),
                             fmt::format("write the number of a {0} or of several: 5: {{compute: 1.3}}, 40-47: "
                                         "{{slower: 10 %}}",
                                         what));
  if (range->first > range->last)
    return diagnostics.error(entry.where,
                             fmt::format("{}: the range goes backwards: its first {}, {}, is above its last, {}",
                                         section.path(), what, range->first, range->last),
                             fmt::format("write {}-{}", range->last, range->first));
  if (what == "node" && range->last >= end)
    return diagnostics.error(
        entry.where, fmt::format("{}: the cluster has no such node", section.path()),
        end == 1 ? std::string("its only node is 0") : fmt::format("its nodes are 0 to {}", end - 1));
  if (end == kUnknown) return;  // the cluster is wrong, and told of
  if (range->last - range->first >= end)
    return diagnostics.error(entry.where,
                             fmt::format("{}: more ranks than the cluster has devices, {}", section.path(), end),
                             "a range is FIRST-LAST: 40-47");
  for (std::uint32_t number = range->first; number <= range->last; ++number)
    if (!all.emplace(Number(number), slow).second)
      return diagnostics.error(entry.where, fmt::format("{}: {} {} is given twice", section.path(), what, number));
}

system::Jitter read_jitter(Section& section) {
  system::Jitter jitter;
  section.takes("per", jitter.per, {"node", "rank", "operation"},
                "what draws a random factor; node: a node of the cluster for all its ranks, rank: each rank (both once "
                "per iteration of a generated job), operation: each computation of each rank");
  double sigma = 0;
  section.needs(
      "sigma", sigma,
      "relative standard deviation of computation times: a computation takes exp(sigma z - sigma^2 / 2) times as long, "
      "with z from the standard normal distribution, so that the mean stays the same. Example: `2 %`");
  if (sigma > 1)
    section.error("sigma", fmt::format("{}.sigma: {} is out of range", section.path(), sigma), "0 % to 100 %");
  else
    jitter.sigma = std::llround(sigma * kMillion);
  section.takes("seed", jitter.seed, {0}, "seed of the random numbers");
  return jitter;
}

// The name of a link whose parts are keys of keys, as `--set perturb.links.nvlink.up.bandwidth=50%` makes them, and
// what stands there.
struct SplitName {
  std::string name;
  const ConfigValue* value = nullptr;
};

std::optional<SplitName> split_name(const network::Fabric& fabric, const std::string& name, const ConfigValue& value) {
  for (const ConfigEntry& part : value.entries) {
    const std::string joined =
        parse_whole_number(part.key) ? fmt::format("{}[{}]", name, part.key) : fmt::format("{}.{}", name, part.key);
    if (auto longer = split_name(fabric, joined, part.value)) return longer;
    if (!network::links_named(fabric, joined).empty()) return SplitName{joined, &part.value};
  }
  return std::nullopt;
}

std::string hint_for(const SplitName& split, const Location& where) {
  std::vector<std::string> settings;
  for (const ConfigEntry& entry : split.value->entries)
    settings.push_back(fmt::format("{}: {}", entry.key, entry.value.scalar));
  const std::string links =
      printable(fmt::format("{}: {{{}}}", yaml_scalar(split.name),
                            settings.empty() ? "bandwidth: 50 %" : fmt::format("{}", fmt::join(settings, ", "))));
  return where.file.starts_with("--set ")
             ? "a name with dots is one key: --set " + shell_quoted(fmt::format("perturb.links={{{}}}", links))
             : fmt::format("a name with dots is one key: links: {{{}}}", links);
}

std::vector<network::BandwidthStep> read_steps(Section& section) {
  std::vector<network::BandwidthStep> steps;
  section.list("at",
               "changes over time: from each `time` on, another share of the bandwidth. Example: `at: [{time: 2 ms, "
               "bandwidth: 50 %}, {time: 5 ms, bandwidth: 100 %}]`",
               [&](Section& step) {
                 Duration time{};
                 Efficiency share = kFullEfficiency;
                 step.needs("time", time, "time of the change, from the start of the job");
                 step.needs("bandwidth", share,
                            "share of the bandwidth (that `bandwidth` beside `at` leaves) from then on");
                 if (!step.sound()) return;
                 const Time at{time};
                 if (at <= (steps.empty() ? Time{} : steps.back().time))
                   step.error("time",
                              fmt::format("{}.time: {} is not after {}", step.path(), to_text(time),
                                          steps.empty() ? "the start" : "the change before it"),
                              steps.empty() ? "what holds from the start on is `bandwidth` beside `at`"
                                            : "list the changes in the order of their times");
                 steps.push_back({at, share});
               });
  return steps;
}

// Every draw on every link is a change of the network, so that a run takes as long as there are periods in it.
constexpr Duration kShortestPeriod = std::chrono::microseconds(1);

std::string exact_percent(double share) { return fmt::format("{:.6g} %", 100 * share); }

// The link's number makes a stream of the seed.
std::optional<network::BackgroundTraffic> read_traffic(Section& section) {
  network::BackgroundTraffic traffic;
  double least = 0, most = 0;
  section.takes("least", least, "the least share of the bandwidth that others take in a period");
  section.needs("most", most, "the largest share that they take, less than 100 %; all shares between are as likely");
  section.needs("period", traffic.period, "time between two draws, the first at the start of the job");
  section.takes("seed", traffic.stream, {0}, "seed of the random numbers");
  if (!section.sound()) return std::nullopt;
  traffic.least = std::llround(least * kMillion);
  traffic.most = most < 1 ? std::llround(most * kMillion) : kFullEfficiency.count();
  if (traffic.most >= kFullEfficiency.count())
    section.error("most", fmt::format("{}.most: {} leaves nothing of the link", section.path(), exact_percent(most)),
                  "a share below 100 %");
  else if (traffic.least > traffic.most)
    section.error(
        "least",
        fmt::format("{}.least: {} is more than `most`, {}", section.path(), exact_percent(least), exact_percent(most)),
        "`least` and `most` are the ends of a range");
  if (traffic.period < kShortestPeriod)
    section.error("period",
                  fmt::format("{}.period: {} is too short; at least {} is expected", section.path(),
                              to_text(traffic.period), to_text(kShortestPeriod)),
                  "write the time between two draws: 1 ms");
  return section.sound() ? std::optional(traffic) : std::nullopt;
}

// Fault of the links of one name.
struct LinkFault {
  Efficiency share = kFullEfficiency;
  Duration latency{};
  std::vector<network::BandwidthStep> steps;
  std::optional<network::BackgroundTraffic> traffic;
  bool is_dead = false;

  bool is_steady() const { return steps.empty() && !traffic; }
};

void apply(const LinkFault& fault, LinkId number, network::Fabric& fabric) {
  const network::Link link = fabric.link(number);
  fabric.set_bandwidth(number, link.bandwidth * fault.share);
  fabric.set_latency(number, saturating_add(link.latency, fault.latency));
  if (fault.is_steady()) return;
  network::LinkCourse course;
  if (!fault.steps.empty()) course.steps.push_back(fault.steps);
  if (fault.traffic) {
    course.traffic.push_back(*fault.traffic);
    course.traffic.back().stream = hash_of({fault.traffic->stream, index_of(number)});
  }
  fabric.add_course(number, course);
}

void read_what_is_left(const ConfigEntry& entry, Section& section, system::NetworkModel model, LinkFault& fault) {
  section.takes("bandwidth", fault.share,
                "share of the bandwidth that is left; routes stay, and libraries choose as if the links were intact");
  section.takes("latency", fault.latency, "latency in addition to the link's own");
  fault.steps = read_steps(section);
  section.section("traffic",
                  "traffic of others on each of the links, drawn anew from period to period. Example: `traffic: {most: "
                  "60 %, period: 1 ms}`",
                  [&](Section& traffic) { fault.traffic = read_traffic(traffic); });
  constexpr Efficiency kLeastUsual{kFullEfficiency.count() / 10};
  if (fault.share < kLeastUsual)
    section.warning("bandwidth",
                    fmt::format("{}.bandwidth: {} leaves a transfer {:.3g} times as long", section.path(),
                                to_text(fault.share), double(kFullEfficiency.count()) / double(fault.share.count())),
                    "it is what is left of the bandwidth: write 97 % for 3 % less");
  if (!fault.is_steady() && model != system::NetworkModel::kFlow)
    section.context().diagnostics().error(
        entry.where,
        fmt::format("{}: links change over time in the flow network only, and this is {}", section.path(),
                    system::network_model_names()[static_cast<std::size_t>(model)]),
        "write network.model: flow, or a share that stays: `bandwidth` without `at` and `traffic`");
}

LinkFault read_fault(const ConfigEntry& entry, Section& section, system::NetworkModel model) {
  LinkFault fault;
  section.accepts(
      "dead", fault.is_dead,
      "whether the links are gone: messages take the fewest others that are left between their ends, and those of a "
      "dead NIC another NIC of the node");
  if (fault.is_dead)
    for (const char* key : {"bandwidth", "latency", "at", "traffic"}) {
      section.know(key);
      if (section.has(key))
        section.error(key, fmt::format("'{}' means nothing for dead links", key), "leave it or `dead` out");
    }
  section.when(!fault.is_dead, [&] { read_what_is_left(entry, section, model, fault); });
  return fault;
}

void read_link(const ConfigEntry& entry, Section& section, system::NetworkModel model,
               std::optional<network::Fabric>& fabric) {
  const LinkFault fault = read_fault(entry, section, model);
  if (!fabric) return;
  std::vector<LinkId> links = network::links_named(*fabric, entry.key);
  if (const auto now = network::renamed_link(*fabric, entry.key); links.empty() && now) {
    links = network::links_named(*fabric, *now);
    if (!links.empty())
      section.context().diagnostics().warning(
          entry.where, fmt::format("{}: these links are now called '{}'", section.path(), *now), "write the new name");
  }
  if (links.empty()) {
    const auto split = split_name(*fabric, entry.key, entry.value);
    if (split)
      for (const ConfigEntry& part : entry.value.entries) section.know(part.key);
    return section.context().diagnostics().error(
        entry.where, fmt::format("{}: no link or end of links is called so", section.path()),
        split ? hint_for(*split, entry.where) : network::link_name_hint(*fabric, entry.key));
  }
  if (fault.is_dead) return fabric->remove_links(links);
  for (const LinkId number : links) apply(fault, number, *fabric);
}

// "node5.nic0", as fabrics call the NICs of their nodes.
bool is_nic_name(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return last.starts_with("nic") && parse_whole_number(last.substr(3)).has_value();
}

std::vector<std::string> nics_of(const network::Fabric& fabric) {
  std::vector<std::string> nics;
  for (std::uint32_t i = 0; i < fabric.vertex_count(); ++i)
    if (std::string name = fabric.vertex_name(network::VertexId(i)); is_nic_name(name)) nics.push_back(std::move(name));
  return nics;
}

// "did you mean 'node5.nic0'? NICs: node0.nic0 to node15.nic7"
std::string nic_hint(const std::string& name, std::span<const std::string> nics) {
  if (nics.empty()) return "this cluster has no NICs; perturb.links takes its links";
  constexpr std::size_t kMostCompared = 10'000;
  const std::string likely = nearest_name(name, nics.first(std::min(nics.size(), kMostCompared)));
  const std::string all = nics.size() == 1 ? nics.front() : fmt::format("{} to {}", nics.front(), nics.back());
  return likely.empty() ? fmt::format("NICs: {}", all) : fmt::format("did you mean '{}'? NICs: {}", likely, all);
}

void read_nic(const ConfigEntry& entry, Section& section, system::NetworkModel model,
              std::optional<network::Fabric>& fabric) {
  if (!fabric) return read_link(entry, section, model, fabric);
  const std::vector<std::string> nics = nics_of(*fabric);
  if (std::ranges::find(nics, entry.key) != nics.end()) return read_link(entry, section, model, fabric);
  for (const ConfigEntry& part : entry.value.entries) section.know(part.key);
  section.context().diagnostics().error(entry.where, fmt::format("{}: no NIC is called so", section.path()),
                                        nic_hint(entry.key, nics));
}

}  // namespace

system::Perturbation read_perturbation(Section& perturb, system::NetworkModel model,
                                       std::optional<network::Fabric>& fabric) {
  system::Perturbation perturbation;
  const std::uint32_t devices = fabric ? fabric->device_count() : kUnknown;
  const Names of_links = {"bandwidth", "latency", "at", "traffic"};
  const std::uint32_t nodes = fabric ? network::node_of(*fabric, DeviceId(devices - 1)) + 1 : kUnknown;
  perturb.map("ranks", "RANK",
              "slow or late ranks, by number or from one to another. Example: `ranks: {5: {compute: 1.3}, 40-47: "
              "{slower: 10 %}}`",
              [&](const ConfigEntry& entry, Section& section) {
                read_slow_ones(entry, section, "rank", devices, perturbation.ranks);
              });
  perturb.map(
      "nodes", "NODE",
      "nodes of the cluster (its first dimension) whose ranks are all slow or late, on top of `ranks`. Example: "
      "`nodes: {5: {slower: 10 %}, 8-11: {compute: 1.3}}`",
      [&](const ConfigEntry& entry, Section& section) {
        read_slow_ones(entry, section, "node", nodes, perturbation.nodes);
      });
  perturb.section("jitter", "random noise on computations, the same in every run with the same seed",
                  [&](Section& section) { perturbation.jitter = read_jitter(section); });
  perturb.map(
      "links", "NAME",
      "slow links, by name: a class (`nic.up`), one link of a class (`nic.up[5]`), or all links of a device, "
      "switch or NIC (`node1.nic0`). Example: `links: {nic.up: {bandwidth: 50 %}}`",
      [&](const ConfigEntry& entry, Section& section) { read_link(entry, section, model, fabric); }, {"dead"},
      of_links);
  perturb.map(
      "nics", "NIC",
      "NICs that are slow or dead, by name: all links of one. Example: `nics: {node5.nic0: dead, node6.nic1: "
      "{bandwidth: 50 %}}`",
      [&](const ConfigEntry& entry, Section& section) { read_nic(entry, section, model, fabric); }, {"dead"}, of_links);
  return perturbation;
}

}  // namespace orrery::experiment
