#include "experiment/perturbation.h"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "network/fabric/link_names.h"

namespace orrery {
namespace {

constexpr double kMillion = 1e6;

TimeFactor read_factor(Section& section) {
  constexpr double kMost = 1e6;
  const double factor = section.optional<double>("compute", 1,
                                                 "factor on the time of all computations of the rank, host and memory "
                                                 "nodes included; not on accesses to memory.remote");
  const auto millionths = factor <= kMost ? std::llround(factor * kMillion) : 0;
  if (millionths > 0) {
    constexpr double kLeastUsual = 0.5, kMostUsual = 10;
    if (factor < kLeastUsual || factor > kMostUsual)
      section.warning("compute",
                      fmt::format("{}.compute: {} makes computations {:.3g} times as {}", section.path(), factor,
                                  factor < 1 ? 1 / factor : factor, factor < 1 ? "fast" : "long"),
                      "it is a factor on times: write 1.03 for 3 % longer");
    return TimeFactor(millionths);
  }
  section.error("compute", fmt::format("{}.compute: {} is out of range", section.path(), factor),
                "a factor on times: above 0, at most 1000000; 1.3 takes 30 % longer");
  return kUnchanged;
}

void read_rank(const ConfigEntry& entry, Section& section, Perturbation& perturbation) {
  RankPerturbation rank;
  rank.where = entry.where;
  rank.compute = read_factor(section);
  rank.start = section.optional<Duration>("start", Duration::zero(), "none of the rank's operations starts before");
  if (section.describes()) return;
  const auto number = parse_whole_number(entry.key);
  Diagnostics& diagnostics = section.context().diagnostics();
  if (!number || *number < 0 || *number >= UINT32_MAX)
    return diagnostics.error(entry.where, fmt::format("{}: not a rank", section.path()),
                             "write the rank's number: 5: {compute: 1.3}");
  if (!perturbation.ranks.emplace(RankId(static_cast<std::uint32_t>(*number)), std::move(rank)).second)
    diagnostics.error(entry.where, fmt::format("{}: rank {} is given twice", section.path(), *number));
}

Jitter read_jitter(Section& section) {
  Jitter jitter;
  const std::vector<std::string> units = {"node", "rank", "operation"};
  jitter.per = static_cast<JitterUnit>(section.optional_choice(
      "per", units, 0,
      "who draws factors: a node of the cluster, for all its ranks, or a rank, one in every iteration of a generated "
      "job; or every single computation of a rank"));
  const double sigma = section.required<double>(
      "sigma",
      "computations take exp(sigma z - sigma^2 / 2) times as long, z drawn from the standard normal "
      "distribution: on average as long as without, with a standard deviation of about sigma");
  if (sigma > 1)
    section.error("sigma", fmt::format("{}.sigma: {} is out of range", section.path(), sigma), "0 % to 100 %");
  else
    jitter.sigma = std::llround(sigma * kMillion);
  jitter.seed = static_cast<std::uint64_t>(section.optional_integer("seed", 1, {0}, "another seed, other draws"));
  return jitter;
}

void read_link(const ConfigEntry& entry, Section& section, std::optional<Fabric>& fabric) {
  const Efficiency share = section.optional<Efficiency>(
      "bandwidth", kFullEfficiency, "what is left of it; routes stay, and libraries choose for the links as they are");
  const Duration latency = section.optional<Duration>("latency", Duration::zero(), "added to the links' own");
  constexpr Efficiency kLeastUsual{kFullEfficiency.count() / 10};
  if (share < kLeastUsual)
    section.warning("bandwidth",
                    fmt::format("{}.bandwidth: {} leaves a transfer {:.3g} times as long", section.path(),
                                to_text(share), double(kFullEfficiency.count()) / double(share.count())),
                    "it is what is left of the bandwidth: write 97 % for 3 % less");
  if (section.describes() || !fabric) return;
  std::vector<LinkId> links = links_named(*fabric, entry.key);
  if (const auto now = renamed_link(*fabric, entry.key); links.empty() && now) {
    links = links_named(*fabric, *now);
    if (!links.empty())
      section.context().diagnostics().warning(
          entry.where, fmt::format("{}: these links are now called '{}'", section.path(), *now), "write the new name");
  }
  if (links.empty())
    return section.context().diagnostics().error(
        entry.where, fmt::format("{}: no link or end of links is called so", section.path()),
        link_name_hint(*fabric, entry.key));
  for (const LinkId number : links) {
    const Link link = fabric->link(number);
    fabric->set_bandwidth(number, link.bandwidth * share);
    fabric->set_latency(number, saturating_add(link.latency, latency));
  }
}

}  // namespace

Perturbation read_perturbation(Section& perturb, std::optional<Fabric>& fabric) {
  Perturbation perturbation;
  perturb.map("ranks", "RANK", "ranks that are slow or late",
              [&](const ConfigEntry& entry, Section& section) { read_rank(entry, section, perturbation); });
  perturb.section("jitter", "noise of all computations, the same in every run with the same seed",
                  [&](Section& section) { perturbation.jitter = read_jitter(section); });
  perturb.map("links", "NAME",
              "links that are slow: a class (nic.up), one of its links (nic.up[5]), or all at a device, switch or NIC "
              "(node1.nic0)",
              [&](const ConfigEntry& entry, Section& section) { read_link(entry, section, fabric); });
  return perturbation;
}

}  // namespace orrery
