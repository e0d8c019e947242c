// SPDX-License-Identifier: MIT
#include "report/parts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>

#include <fmt/format.h>

#include "core/error.h"
#include "network/fabric/link_names.h"
#include "report/figures.h"

namespace orrery::report {
namespace {

std::string shape_of(const workload::Communicator& communicator) {
  const std::size_t size = communicator.members.size();
  if (size < 2) return fmt::format("{} rank", size);
  const auto distance = [&](std::size_t i) {
    return std::int64_t{index_of(communicator.members[i + 1])} - std::int64_t{index_of(communicator.members[i])};
  };
  const std::int64_t first = distance(0);
  for (std::size_t i = 1; i + 1 < size; ++i)
    if (distance(i) != first) return fmt::format("{} ranks, mixed", size);
  return first == 1 ? fmt::format("{} ranks", size) : fmt::format("{} ranks by {}", size, first);
}

// A word people chose, as against a number or a hash: it has a letter, and fewer digits than letters once the trailing
// number is gone.
bool is_word(const std::string& name) {
  const auto letters = std::ranges::count_if(name, [](unsigned char c) { return std::isalpha(c) != 0; });
  const auto digits = std::ranges::count_if(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  return letters > digits;
}

std::string name_of_exposed(const std::string& family) {
  if (family == kInput) return "exposed data loading";
  if (family == kOffload) return "exposed copies between devices and hosts";
  if (family == kCheckpoint) return "exposed writing of checkpoints";
  return "exposed communication (" + family + ")";
}

}  // namespace

std::string every_layer(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit)
      text += c;
    else if (!text.ends_with('*'))
      text += '*';
  }
  return text;
}

RankParts parts_of(const Breakdown& b, const Result& result) {
  RankParts parts{b.compute, b.slowed, b.host, b.memory, b.bubble, b.wait, b.idle, {}, b.finish};
  for (const auto& [name, time] : b.exposed) {
    const auto family = result.group_family.find(name);
    parts.exposed[family == result.group_family.end() ? name : family->second] += time;
  }
  return parts;
}

std::string short_name(const Part& part) {
  // Names by PartKind.
  constexpr std::array<std::string_view, 8> kNames = {"compute", "host",       "remote memory", "",
                                                      "wait",    "stage wait", "idle",          "slowed"};
  return part.kind == PartKind::kCommunication ? part.family : std::string(kNames[static_cast<std::size_t>(part.kind)]);
}

std::vector<Part> mean_parts(const Result& result) {
  if (!result.has_parts) return {};
  struct Sum {
    PartKind kind{};
    std::string family;
    Int128 picoseconds = 0;
  };
  std::vector<std::int64_t> ranks(result.classes.size());
  for (const std::uint32_t number : result.class_of_rank) ++ranks[number];
  std::map<std::string, Sum> sums;
  for (std::size_t i = 0; i < result.classes.size(); ++i) {
    const RankParts parts = parts_of(result.classes[i], result);
    const auto add = [&](const std::string& name, PartKind kind, Duration time, const std::string& family = {}) {
      Sum& sum = sums[name];
      sum.kind = kind;
      sum.family = family;
      sum.picoseconds += Int128{time.count()} * ranks[i];
    };
    add("device compute", PartKind::kCompute, parts.compute - parts.slowed - parts.host - parts.memory);
    add("slowed by communication", PartKind::kSlowed, parts.slowed);
    add("host", PartKind::kHost, parts.host);
    add("remote memory", PartKind::kMemory, parts.memory);
    for (const auto& [family, time] : parts.exposed)
      add(name_of_exposed(family), PartKind::kCommunication, time, family);
    add("waiting for members of collectives", PartKind::kWait, parts.wait);
    add("waiting for other stages", PartKind::kBubble, parts.bubble);
    add("idle", PartKind::kIdle, parts.idle);
  }
  std::vector<Part> means;
  const auto rank_count = static_cast<double>(result.class_of_rank.size());
  for (const auto& [name, sum] : sums)
    if (sum.picoseconds > 0)
      means.push_back({name, static_cast<double>(sum.picoseconds) / 1e12 / rank_count, sum.kind, sum.family});
  std::ranges::stable_sort(means, std::ranges::greater{}, &Part::seconds);
  return means;
}

double mean_host_pace(const Result& result) {
  if (!result.has_parts) return 0;
  double sum = 0;
  for (const std::uint32_t number : result.class_of_rank) sum += seconds(result.classes[number].host_pace);
  return result.class_of_rank.empty() ? 0 : sum / static_cast<double>(result.class_of_rank.size());
}

std::string group_family(const workload::Communicator& communicator) {
  std::string stem = communicator.name.substr(communicator.job_prefix);
  while (!stem.empty() && std::isdigit(static_cast<unsigned char>(stem.back()))) stem.pop_back();
  while (!stem.empty() && (stem.back() == '_' || stem.back() == '-' || stem.back() == ' ' || stem.back() == '.'))
    stem.pop_back();
  return is_word(stem) ? printable(stem, 24) : shape_of(communicator);
}

std::map<std::string, std::string> group_families(const workload::Job& job, std::span<const RankId> acting) {
  std::map<std::string, std::string> families;
  const bool repeats = job.ranks.period().any();
  for (const workload::Communicator& communicator : job.communicators)
    if (!repeats || !communicator.shifted_from) families[communicator.name] = group_family(communicator);
  if (!repeats) return families;
  for (std::size_t rank = 0; rank < acting.size(); ++rank) {
    if (index_of(acting[rank]) != rank) continue;
    for (std::uint32_t slot = 0; slot < job.ranks.communicator_count(rank); ++slot) {
      const workload::Communicator& communicator = job.communicators[index_of(job.ranks.communicator(rank, slot))];
      families.try_emplace(communicator.name, group_family(communicator));
    }
  }
  return families;
}

std::string rank_ranges(std::span<const std::size_t> ranks, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ",";
    if (text.size() > most) return text + "...";
    text += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return text;
}

namespace {

LinkShares shares_of(const std::vector<LinkClassUse>& classes) {
  LinkShares links;
  for (const LinkClassUse& use : classes) {
    const std::string name = network::without_direction(use.name);
    const auto known = std::ranges::find(links, name, &LinkShares::value_type::first);
    if (known != links.end())
      known->second = std::max(known->second, use.most);
    else
      links.emplace_back(name, use.most);
  }
  std::erase_if(links, [](const auto& link) { return link.second <= 0; });
  std::ranges::stable_sort(links, std::ranges::greater{}, &LinkShares::value_type::second);
  return links;
}

std::optional<Bound> bound_of(const Result& result) {
  if (result.path.empty()) return std::nullopt;
  const PathShare& largest = result.path.front();
  return Bound{printable(largest.what, 40), seconds(largest.time) / seconds(result.finish.time_since_epoch())};
}

}  // namespace

FigureSource figure_source(const Result& result) {
  FigureSource source{iteration_time(result),
                      result.training ? &*result.training : nullptr,
                      result.call ? &*result.call : nullptr,
                      result.product ? &*result.product : nullptr,
                      result.has_parts,
                      mean_parts(result),
                      shares_of(result.links),
                      bound_of(result)};
  for (Part& part : source.parts) part.seconds /= static_cast<double>(result.iterations);
  return source;
}

}  // namespace orrery::report
