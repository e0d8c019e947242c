// SPDX-License-Identifier: MIT
#include "experiment/sections.h"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/hash.h"
#include "network/fabric/link_names.h"

namespace orrery::experiment {
namespace {

constexpr double kMillion = 1e6;

system::TimeFactor read_factor(Section& section) {
  constexpr double kMost = 1e6;
  double factor = 1;
  section.takes("compute", factor,
                "factor on the time of all computations of the rank, including host and memory nodes, but not accesses "
                "to `memory.remote`. Example: `1.3` takes 30 % longer");
  const auto millionths = factor <= kMost ? std::llround(factor * kMillion) : 0;
  if (millionths > 0) {
    constexpr double kLeastUsual = 0.5, kMostUsual = 10;
    if (factor < kLeastUsual || factor > kMostUsual)
      section.warning("compute",
                      fmt::format("{}.compute: {} makes computations {:.3g} times as {}", section.path(), factor,
                                  factor < 1 ? 1 / factor : factor, factor < 1 ? "fast" : "long"),
                      "it is a factor on times: write 1.03 for 3 % longer");
    return system::TimeFactor(millionths);
  }
  section.error("compute", fmt::format("{}.compute: {} is out of range", section.path(), factor),
                "a factor on times: above 0, at most 1000000; 1.3 takes 30 % longer");
  return system::kUnchanged;
}

void read_rank(const ConfigEntry& entry, Section& section, system::Perturbation& perturbation) {
  system::RankPerturbation rank;
  rank.where = entry.where;
  rank.compute = read_factor(section);
  section.takes("start", rank.start, "time before which no operation of the rank starts");
  const auto number = parse_whole_number(entry.key);
  Diagnostics& diagnostics = section.context().diagnostics();
  if (!number || *number < 0 || *number >= UINT32_MAX)
    return diagnostics.error(entry.where, fmt::format("{}: not a rank", section.path()),
                             "write the rank's number: 5: {compute: 1.3}");
  if (!perturbation.ranks.emplace(RankId(static_cast<std::uint32_t>(*number)), std::move(rank)).second)
    diagnostics.error(entry.where, fmt::format("{}: rank {} is given twice", section.path(), *number));
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
  const bool is_plain = split.name.find('[') == std::string::npos;
  const std::string links =
      printable(fmt::format("{0}{1}{0}: {{{2}}}", is_plain ? "" : "\"", split.name,
                            settings.empty() ? "bandwidth: 50 %" : fmt::format("{}", fmt::join(settings, ", "))));
  return where.file.starts_with("--set ")
             ? fmt::format("a name with dots is one key: --set 'perturb.links={{{}}}'", links)
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

std::string percent(double share) { return fmt::format("{:.6g} %", 100 * share); }

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
    section.error("most", fmt::format("{}.most: {} leaves nothing of the link", section.path(), percent(most)),
                  "a share below 100 %");
  else if (traffic.least > traffic.most)
    section.error("least",
                  fmt::format("{}.least: {} is more than `most`, {}", section.path(), percent(least), percent(most)),
                  "`least` and `most` are the ends of a range");
  if (traffic.period < kShortestPeriod)
    section.error("period",
                  fmt::format("{}.period: {} is too short; at least {} is expected", section.path(),
                              to_text(traffic.period), to_text(kShortestPeriod)),
                  "write the time between two draws: 1 ms");
  return section.sound() ? std::optional(traffic) : std::nullopt;
}

// What a name of links is given.
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

}  // namespace

system::Perturbation read_perturbation(Section& perturb, system::NetworkModel model,
                                       std::optional<network::Fabric>& fabric) {
  system::Perturbation perturbation;
  perturb.map("ranks", "RANK", "slow or late ranks, by number. Example: `ranks: {5: {compute: 1.3}}`",
              [&](const ConfigEntry& entry, Section& section) { read_rank(entry, section, perturbation); });
  perturb.section("jitter", "random noise on computations, the same in every run with the same seed",
                  [&](Section& section) { perturbation.jitter = read_jitter(section); });
  perturb.map("links", "NAME",
              "slow links, by name: a class (`nic.up`), one link of a class (`nic.up[5]`), or all links of a device, "
              "switch or NIC (`node1.nic0`). Example: `links: {nic.up: {bandwidth: 50 %}}`",
              [&](const ConfigEntry& entry, Section& section) { read_link(entry, section, model, fabric); });
  return perturbation;
}

}  // namespace orrery::experiment
