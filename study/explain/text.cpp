// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/table.h"
#include "study/explain/explain.h"

namespace orrery::study {
namespace {

using report::kRight;

constexpr std::size_t kMostResources = 7, kLeastResources = 4,
                      kMostChanges = 6;  // rows of tables that mostly fit on one screen
constexpr double kLeast = 0.0005;        // share of the time that is worth a mention

// Share of the present time that a variant saves; empty if it was not simulated.
std::optional<double> saving(const Variant& variant, const Variant& base) {
  if (!variant.ran() || base.time <= Duration::zero()) return std::nullopt;
  return 1 - seconds(variant.time) / seconds(base.time);
}

std::string time_text(const Variant& variant) { return variant.ran() ? rounded(variant.time) : "-"; }

std::string run_text(const Variant& variant) { return variant.run ? days_text(variant.run->seconds) : "-"; }

std::string cost_text(const Variant& variant) {
  if (!variant.run || !variant.run->cost) return "-";
  return large_count(*variant.run->cost);
}

std::string heading(const Explanation& explanation) {
  std::string text = fmt::format("iteration time {}: {}\n", rounded(explanation.base.time), explanation.devices);
  if (!explanation.job.empty()) text += fmt::format("{}\n", explanation.job);
  if (!explanation.base.fits())
    text += fmt::format("does not fit: its fullest rank needs {} of {}\n", rounded(explanation.base.need),
                        rounded(explanation.base.capacity));
  if (explanation.base.run) {
    text += fmt::format("training takes {}", run_text(explanation.base));
    if (explanation.base.run->cost) text += fmt::format(" and costs {}", cost_text(explanation.base));
    text += "\n";
  }
  if (explanation.computes_as_measured) text += "computing takes as long as the traces say, on whatever device\n";
  return text;
}

bool helps(const ExplainedResource& resource, const Explanation& explanation) {
  return saving(resource.twice, explanation.base).value_or(0) >= kLeast;
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
  const auto time = [&](const Variant& variant) { return explanation.base.run ? "-" : time_text(variant); };
  std::string text =
      report::table_of(
          shown,
          {{"resource", [](const auto& one) { return printable(one.resource.name, 24); }},
           {"now", [](const auto& one) { return one.resource.now.empty() ? "-" : printable(one.resource.now, 12); },
            kRight},
           {"x1.1", [&](const auto& one) { return time(one.slightly); }, kRight},
           {"x2", [&](const auto& one) { return time(one.twice); }, kRight},
           {"saves", [&](const auto& one) { return percent(saving(one.twice, explanation.base)); }, kRight},
           {"run", [](const auto& one) { return run_text(one.twice); }, kRight},
           {"cost", [](const auto& one) { return cost_text(one.twice); }, kRight},
           {"dlnt/dlnr", sensitivity, kRight}})
          .text();
  if (shown.size() < explanation.resources.size())
    text +=
        fmt::format("  {} more, of which twice as much saves {} at most\n", explanation.resources.size() - shown.size(),
                    percent(saving(explanation.resources[shown.size()].twice, explanation.base)));
  return text;
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
  return report::wrapped(fmt::format("{} saves {} than predicted ratios of times are off: {}", first.name,
                                     within ? "no more" : "more", ratio_errors_text(error)));
}

// "93.1 GiB of 74.5 GiB": what the fullest rank needs, if that is more than its device has.
std::string excess_text(const Variant& variant) {
  return variant.fits() ? "-" : fmt::format("{} of {}", rounded(variant.need), rounded(variant.capacity));
}

// Table of as many plans as `most`.
std::string changes_text(const Explanation& explanation, std::size_t most) {
  if (explanation.changes.empty()) return {};
  const auto shown = std::span(explanation.changes).first(std::min(explanation.changes.size(), most));
  std::vector<Variant> rows;
  std::string beneath;  // reasons that are too long for a column
  std::size_t widest = 0;
  for (const Variant& change : shown) widest = std::max(widest, change.name.size());
  const bool all_fit = std::ranges::all_of(shown, &Variant::fits);
  for (const Variant& change : shown) {
    constexpr std::size_t kFigures = 25, kOfRun = 17;  // columns that they take
    constexpr std::size_t kExcess = 24;
    const std::size_t taken = widest + kFigures + (explanation.base.run ? kOfRun : 0) + (all_fit ? 0 : kExcess);
    if (!change.no_difference.empty())
      beneath += report::wrapped(fmt::format("{}: {}", change.name, change.no_difference));
    if (!change.ran() && taken + change.refusal.size() > report::kScreenWidth) {
      beneath += report::wrapped(fmt::format("{} not simulated: {}", change.name, printable(change.refusal)));
      continue;
    }
    rows.push_back(change);
  }
  std::string text = "\n";
  if (!rows.empty())
    text += report::table_of(
                rows, {{"other plan", &Variant::name},
                       {"time", time_text, kRight},
                       {"saves", [&](const Variant& one) { return percent(saving(one, explanation.base)); }, kRight},
                       {"run", run_text, kRight},
                       {"cost", cost_text, kRight},
                       {"does not fit", excess_text},
                       {"not simulated", [](const Variant& one) { return one.ran() ? "-" : printable(one.refusal); }}})
                .text();
  text += beneath;
  if (shown.size() < explanation.changes.size())
    text += fmt::format("  {} more with --json\n", explanation.changes.size() - shown.size());
  return text + tie_text(explanation);
}

nlohmann::ordered_json variant_json(const Variant& variant, const Variant& base) {
  nlohmann::ordered_json json = {{"settings", variant.settings}};
  if (!variant.ran()) {
    json["refused"] = variant.refusal;
    return json;
  }
  json["iteration_time_s"] = seconds(variant.time);
  json["speedup"] = variant.time > Duration::zero() ? seconds(base.time) / seconds(variant.time) : 1;
  if (!variant.fits())
    json["too_little_memory"] = {{"need_bytes", variant.need.count()}, {"capacity_bytes", variant.capacity.count()}};
  if (!variant.no_difference.empty()) json["no_difference"] = variant.no_difference;
  json["saved_s"] = seconds(base.time) - seconds(variant.time);
  if (variant.run) json["run_s"] = variant.run->seconds;
  if (variant.run && variant.run->cost) json["cost"] = *variant.run->cost;
  return json;
}

}  // namespace

// Reasons of plans that save nothing take the place of the last resources, then of the last plans.
std::string explanation_text(const Explanation& explanation) {
  std::size_t resources = kMostResources, plans = kMostChanges;
  const bool has_reasons =
      std::ranges::any_of(explanation.changes, [](const Variant& one) { return !one.no_difference.empty(); });
  while (true) {
    std::string text = heading(explanation) + advice(explanation) + "\n" + resources_text(explanation, resources) +
                       changes_text(explanation, plans);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    const bool fits = report::table_format() != report::TableFormat::kText || lines <= report::kScreenLines;
    if (fits || plans == 1) return text;
    if (has_reasons && resources > kLeastResources)
      --resources;
    else
      --plans;
  }
}

nlohmann::ordered_json explanation_json(const Explanation& explanation) {
  const Variant& base = explanation.base;
  nlohmann::ordered_json resources = nlohmann::ordered_json::array(), changes = nlohmann::ordered_json::array();
  for (const ExplainedResource& one : explanation.resources) {
    const auto sensitivity = one.sensitivity(base.time);
    resources.push_back({{"name", one.resource.name},
                         {"now", one.resource.now},
                         {"keys", one.resource.keys},
                         {"sensitivity", sensitivity ? nlohmann::ordered_json(*sensitivity) : nlohmann::ordered_json()},
                         {"x1.1", variant_json(one.slightly, base)},
                         {"x2", variant_json(one.twice, base)}});
  }
  for (const Variant& change : explanation.changes) {
    nlohmann::ordered_json json = {{"name", change.name}};
    json.update(variant_json(change, base));
    changes.push_back(std::move(json));
  }
  nlohmann::ordered_json document = {{"schema", "orrery.explain/1"},
                                     {"iteration_time_s", seconds(base.time)},
                                     {"computes_as_measured", explanation.computes_as_measured}};
  if (base.run) document["run_s"] = base.run->seconds;
  if (base.run && base.run->cost) document["cost"] = *base.run->cost;
  document["resources"] = std::move(resources);
  document["changes"] = std::move(changes);
  if (explanation.ratio) document["ratio_error"] = to_json(*explanation.ratio);
  if (!explanation.by_hand.empty()) document["by_hand"] = printable(explanation.by_hand, 120);
  return document;
}

report::Document explanation_document() {
  using enum report::KeyType;
  using report::DocumentKeys, report::maybe;
  const DocumentKeys run = {maybe({kNumber, "run_s", "of the whole training, with `workload.tokens`"}),
                            maybe({kNumber, "cost", "likewise, with `workload.price`"})};
  const DocumentKeys variant = report::joined(
      {{{kTexts, "settings", "to be given to `--set`"},
        maybe({kNumber, "iteration_time_s", ""}),
        maybe({kNumber, "speedup", ""}),
        maybe({kNumber, "saved_s", ""}),
        maybe({kMap,
               "too_little_memory",
               "of a plan that does not fit (`--allow-oom`)",
               {{kWhole, "need_bytes", "of the fullest rank"}, {kWhole, "capacity_bytes", "of its device"}}}),
        maybe({kText, "no_difference", "why it takes as long"})},
       run,
       {maybe({kText, "refused", "why it was not simulated"})}});
  return {
      "orrery.explain/1", "`explain --json`", "",
      report::joined(
          {{{kNumber, "iteration_time_s", "of the experiment"},
            {kTruth, "computes_as_measured", "durations of traces, which no device changes"}},
           run,
           {{kList,
             "resources",
             "what saves most first",
             {{kText, "name", ""},
              {kText, "now", ""},
              {kTexts, "keys", ""},
              {kNumber, "sensitivity", "d ln t / d ln r, from 1.1 times as much; null where that was not simulated"},
              {kMap, "x1.1", "with 1.1 times as much", variant},
              {kMap, "x2", "with twice as much", variant}}},
            {kList, "changes", "other plans, the fastest that fits first",
             report::joined({{{kText, "name", ""}}, variant})},
            maybe({kMap, "ratio_error", "by which times of two plans may be off", ratio_error_keys()}),
            maybe({kText, "by_hand", "key that no published run has so, for which there is no such error"})}})};
}

}  // namespace orrery::study
