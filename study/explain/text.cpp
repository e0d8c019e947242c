// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/table.h"
#include "study/explain/explain.h"

namespace orrery::study {
namespace {

using report::kRight, report::Interest;

constexpr std::size_t kMostResources = 7, kLeastResources = 2, kLeastPlans = 3,
                      kMostChanges = 8;  // rows of tables that mostly fit on one screen

// Share of the present time that a variant saves; empty if it was not simulated.
std::optional<double> saving(const Variant& variant, const Variant& base) {
  if (!variant.ran() || base.time <= Duration::zero()) return std::nullopt;
  return 1 - seconds(variant.time) / seconds(base.time);
}

report::Cell time_of(const Variant& variant) { return variant.ran() ? report::Cell(variant.time) : "-"; }

report::Cell run_of(const Variant& variant) {
  return variant.run ? report::Cell::long_time(variant.run->seconds) : report::Cell("-");
}

report::Cell cost_of(const Variant& variant) {
  if (!variant.run || !variant.run->cost) return "-";
  return report::Cell::number(*variant.run->cost);
}

std::string heading(const Explanation& explanation) {
  const std::string bound = explanation.bound == "-" ? "" : fmt::format(", bound by {}", explanation.bound);
  std::string text = report::wrapped(
      fmt::format("iteration time {}{}: {}", rounded(explanation.base.time), bound, explanation.devices),
      {.first = "", .next = "  ", .at = report::Wrapping::Break::kClauses});
  if (!explanation.job.empty()) text += fmt::format("{}\n", explanation.job);
  if (!explanation.base.fits())
    text += fmt::format("does not fit: its fullest rank needs {} of {}\n", rounded(explanation.base.need),
                        rounded(explanation.base.capacity));
  if (explanation.base.run) {
    text += fmt::format("training takes {}", run_of(explanation.base).text());
    if (explanation.base.run->cost) text += fmt::format(" and costs {}", cost_of(explanation.base).text());
    text += "\n";
  }
  if (explanation.computes_as_measured) text += "computing takes as long as the traces say, on whatever device\n";
  return text;
}

bool helps(const ExplainedResource& resource, const Explanation& explanation) {
  return saving(resource.twice, explanation.base).value_or(0) >= kLeastSaving;
}

// "nvlink bandwidth (twice as much saves 7.1 %)".
std::string named_saving(const ExplainedResource& resource, const Explanation& explanation) {
  return fmt::format("{} ({} saves {})", resource.resource.name,
                     resource.resource.is_delay ? "half of it" : "twice as much",
                     percent(saving(resource.twice, explanation.base)));
}

std::string advice(const Explanation& explanation) {
  const std::vector<ExplainedResource>& resources = explanation.resources;
  if (resources.empty() || !helps(resources.front(), explanation))
    return "no resource of the cluster would make it faster\n";
  std::string text = fmt::format("what helps most: {}\n", named_saving(resources.front(), explanation));
  const auto link = std::ranges::find_if(resources, [](const auto& one) { return one.resource.is_link; });
  if (link == resources.end() || !helps(*link, explanation)) return text + "of the links: none would make it faster\n";
  return text + fmt::format("of the links: {}\n", named_saving(*link, explanation));
}

// Lines on links that save nothing by themselves, as others hold them up.
std::string held_up_text(const Explanation& explanation) {
  constexpr std::size_t kMost = 2;
  std::string text;
  std::size_t told = 0;
  for (const ExplainedResource& one : explanation.resources)
    if (one.is_held_up && told++ < kMost)
      text += report::wrapped(fmt::format("{} saves nothing: {}", one.twice.name, one.twice.no_difference));
  return text;
}

std::string resources_text(const Explanation& explanation, std::size_t most) {
  const auto helpful = std::ranges::count_if(explanation.resources,
                                             [&](const ExplainedResource& one) { return helps(one, explanation); });
  const auto shown = std::span(explanation.resources).first(std::min(static_cast<std::size_t>(helpful), most));
  if (shown.empty()) return {};
  const auto sensitivity = [&](const ExplainedResource& one) {
    const auto found = one.sensitivity(explanation.base.time);
    return found ? fmt::format("{:.3f}", *found) : "-";
  };
  // A whole run says more than one iteration, and there is no place for both.
  const auto time = [&](const Variant& variant) { return explanation.base.run ? report::Cell("-") : time_of(variant); };
  report::Table table = report::table_of(
      shown, {{"resource", [](const auto& one) { return printable(one.resource.name, 24); }},
              {"now", [](const auto& one) { return one.resource.now.empty() ? "-" : printable(one.resource.now, 12); }},
              {"x1.1", [&](const auto& one) { return time(one.slightly); }, kRight},
              {"x2", [&](const auto& one) { return time(one.twice); }, kRight},
              {"saves", [&](const auto& one) { return percent(saving(one.twice, explanation.base)); }, kRight},
              {"run", [](const auto& one) { return run_of(one.twice); }, kRight},
              {"cost", [](const auto& one) { return cost_of(one.twice); }, kRight},
              {"dlnt/dlnr", sensitivity, kRight}});
  table.read_across();
  std::string text = table.text();
  if (shown.size() < explanation.resources.size())
    text +=
        fmt::format("  {} more, of which twice as much saves {} at most\n", explanation.resources.size() - shown.size(),
                    percent(saving(explanation.resources[shown.size()].twice, explanation.base)));
  return text + held_up_text(explanation);
}

// A line on whether the first plan's gain is more than ratios of times are off.
std::string tie_text(const Explanation& explanation) {
  if (explanation.changes.empty()) return {};
  const Variant& first = explanation.changes.front();
  if (!first.ran() || first.time <= Duration::zero() || first.time >= explanation.base.time) return {};
  if (!explanation.by_hand.empty()) return report::wrapped(no_ratio_error_text(explanation.by_hand));
  if (!explanation.ratio) return {};
  const RatioError& error = *explanation.ratio;
  const bool within = is_within(seconds(first.time) / seconds(explanation.base.time), error);
  return report::wrapped(fmt::format("the first saves {} than predicted ratios of times are off: {}",
                                     within ? "no more" : "more", ratio_errors_text(error)));
}

// "93.1 GiB of 74.5 GiB": what the fullest rank needs, if that is more than its device has.
std::string excess_text(const Variant& variant) {
  return variant.fits() ? "-" : fmt::format("{} of {}", rounded(variant.need), rounded(variant.capacity));
}

// True if a change is worth a row: it saves something. A few of the others stand for all where nothing does.
bool saves(const Variant& variant, const Variant& base) { return saving(variant, base).value_or(0) >= kLeastSaving; }

// "4 save nothing (loss, order of ranks, ZeRO and 1 more)".
std::string vain_text(std::size_t count, const std::vector<std::string>& kinds) {
  constexpr std::size_t kShown = 5;
  const std::size_t shown = std::min(kinds.size(), kShown);
  std::string text = fmt::format("{} {} nothing ({}", count, count == 1 ? "saves" : "save",
                                 fmt::join(kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (kinds.size() > shown) text += fmt::format(" and {} more", kinds.size() - shown);
  return text + ")";
}

// Line on changes without a row.
std::string others_text(std::span<const Variant> others, const Variant& base) {
  std::vector<std::string> kinds;  // of those that save nothing
  std::size_t vain = 0, less = 0, bounded = 0, full = 0, impossible = 0;
  for (const Variant& one : others) {
    if (!one.refusal.empty()) {
      ++(one.refusal.starts_with("out of memory") ? full : impossible);
    } else if (!one.ran()) {
      ++bounded;
    } else if (saves(one, base)) {
      ++less;
    } else {
      ++vain;
      if (std::ranges::find(kinds, one.kind) == kinds.end()) kinds.push_back(one.kind);
    }
  }
  std::vector<std::string> parts;
  if (less > 0) parts.push_back(fmt::format("{} {} less", less, less == 1 ? "saves" : "save"));
  if (vain > 0) parts.push_back(vain_text(vain, kinds));
  if (bounded > 0) parts.push_back(fmt::format("{} can't be faster by their lower bounds", bounded));
  if (full > 0) parts.push_back(fmt::format("{} out of memory", full));
  if (impossible > 0) parts.push_back(fmt::format("{} impossible", impossible));
  if (parts.empty()) return {};
  return report::wrapped(fmt::format("more with --json: {}", fmt::join(parts, ", ")));
}

// Table of as many plans as `most`, the best two of each kind, or one where there is room for few: of those that save
// something, and of a few others where these are fewer. Where the job does not fit, of all, as one that does is looked
// for, however slow.
std::string changes_text(const Explanation& explanation, std::size_t most) {
  if (explanation.changes.empty()) return {};
  constexpr std::size_t kLeastRows = 3, kFew = 4;
  const std::ptrdiff_t most_of_kind = most <= kFew ? 1 : 2;
  const Variant& base = explanation.base;
  std::vector<Variant> rows, others;
  for (const bool is_helpful : {true, false})
    for (const Variant& one : explanation.changes) {
      const bool helps = one.ran() && (saves(one, base) || !base.fits());
      if (helps != is_helpful) continue;
      const auto of_kind = std::ranges::count(rows, one.kind, &Variant::kind);
      const bool has_row =
          one.ran() && rows.size() < (helps ? most : std::min(most, kLeastRows)) && of_kind < most_of_kind;
      (has_row ? rows : others).push_back(one);
    }
  constexpr std::size_t kFigures = 23, kOfRun = 21, kExcess = 26;  // columns that they take
  constexpr std::size_t kLeastName = 10;
  const std::size_t taken =
      kFigures + (explanation.base.run ? kOfRun : 0) + (std::ranges::all_of(rows, &Variant::fits) ? 0 : kExcess);
  const std::size_t room = std::max(report::screen_width(), taken + kLeastName) - taken;
  std::string text = "\n";
  if (!rows.empty())
    text +=
        report::table_of(rows, {{"other plan", [&](const Variant& one) { return printable(one.name, room); }},
                                {"time", time_of, kRight, Interest::kAnswer},
                                {"saves", [&](const Variant& one) { return percent(saving(one, explanation.base)); },
                                 kRight, Interest::kAnswer},
                                {"run", run_of, kRight},
                                {"cost", cost_of, kRight},
                                {"does not fit", excess_text}})
            .text();
  for (const Variant& one : rows)
    if (!one.no_difference.empty()) text += report::wrapped(fmt::format("{}: {}", one.name, one.no_difference));
  return text + others_text(others, base) + tie_text(explanation);
}

}  // namespace

// Plans take the place of the last resources where there is not enough for both; the least of both may be longer than a
// screen.
std::string explanation_text(const Explanation& explanation) {
  std::size_t resources = kMostResources, plans = kMostChanges;
  while (true) {
    std::string text = heading(explanation) + advice(explanation) + pipeline_text(explanation) + "\n" +
                       resources_text(explanation, resources) + changes_text(explanation, plans);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    const bool fits = report::table_format() != report::TableFormat::kText || lines <= report::kScreenLines;
    if (fits || plans == kLeastPlans) return text;
    if (resources > kLeastResources)
      --resources;
    else
      --plans;
  }
}

}  // namespace orrery::study
