// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "core/files/shell_word.h"
#include "report/table.h"
#include "study/search/search.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kColumns = {PlanKey::kTensor,     PlanKey::kPipeline,  PlanKey::kVirtualStages, PlanKey::kContext,
                                 PlanKey::kData,       PlanKey::kExpert,    PlanKey::kMicro,         PlanKey::kZero,
                                 PlanKey::kSequence,   PlanKey::kRecompute, PlanKey::kOffload,       PlanKey::kSchedule,
                                 PlanKey::kContextKind};

PlanKey key_at(std::size_t number) { return static_cast<PlanKey>(number); }

// Columns that are the same for all plans, and nothing special, are left out.
// `search`: of the plans at whose head these are; null where they have no rank.
std::string plans_text(std::span<const FoundPlan> plans, const Search* search) {
  using report::kRight, report::Interest;
  const auto number = [&](const FoundPlan& one) {
    return search == nullptr ? "-" : std::to_string(search->rank_of(static_cast<std::size_t>(&one - plans.data())));
  };
  std::vector<report::ColumnOf<FoundPlan>> columns = {
      {"", number, kRight},
      {"time", [](const FoundPlan& one) { return *one.time; }, kRight, Interest::kAnswer},
      {"lower bound", [](const FoundPlan& one) { return one.bound; }, kRight, Interest::kDetail}};
  for (const report::Figure* figure : plan_columns())
    columns.emplace_back(
        std::string(figure->heading),
        [figure](const FoundPlan& one) { return report::column_cell(one.values, figure->column_name()); }, kRight);
  columns.emplace_back(
      "memory", [](const FoundPlan& one) { return one.memory; }, kRight);
  const Plan plain;
  for (const PlanKey key : kColumns)
    if (std::ranges::any_of(plans, [&](const FoundPlan& one) { return one.plan[key] != plain[key]; }))
      columns.emplace_back(
          std::string(name_of(key)), [key](const FoundPlan& one) { return value_text(key, one.plan[key]); }, kRight);
  columns.emplace_back(
      "bound by", [](const FoundPlan& one) { return report::bound_text(one.values); }, std::nullopt, Interest::kDetail);
  return report::table_of(plans, columns).text();
}

// Plans that are faster than all with less memory, the fastest first, each with markedly less memory than the one
// before.
std::vector<FoundPlan> pareto_front(const Search& search) {
  constexpr double kLess = 0.9;
  std::vector<FoundPlan> front;
  for (std::size_t i = 0; i < search.simulated; ++i) {
    const auto memory = static_cast<double>(search.found[i].memory.count());
    if (front.empty() || memory <= kLess * static_cast<double>(front.back().memory.count()))
      front.push_back(search.found[i]);
  }
  return front;
}

// "pipeline bubble +1.20 s, exposed communication (tensor) -0.30 s": what the first takes more than the second.
std::string difference_text(const FoundPlan& slow, const FoundPlan& fast) {
  std::map<std::string, double> more;
  for (const report::Part& part : slow.parts) more[part.name] += part.seconds;
  for (const report::Part& part : fast.parts) more[part.name] -= part.seconds;
  std::vector<std::pair<std::string, double>> parts(more.begin(), more.end());
  std::ranges::stable_sort(parts, std::ranges::greater{}, [](const auto& part) { return std::abs(part.second); });
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, parts.size()); ++i) {
    if (std::llround(parts[i].second * 1e12) == 0) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parts[i].first, signed_time(parts[i].second));
  }
  return text;
}

std::string plans_are(std::size_t count) { return count == 1 ? "1 plan is" : fmt::format("{} plans are", count); }

// "12 plans are"; "12 to 340 plans are" where that is not known.
std::string faster_text(const Search& search) {
  const auto [faster, maybe] = search.faster_than_given();
  return maybe == 0 ? plans_are(faster) : fmt::format("{} to {} plans are", faster, faster + maybe);
}

std::string given_text(const Search& search) {
  if (search.given_refusal)
    return fmt::format("the plan of the experiment is not compared: {}\n", *search.given_refusal);
  if (!search.given) return {};
  const FoundPlan& given = *search.given;
  if (search.simulated == 0)
    return fmt::format("the plan of the experiment ({}) takes {}, with {} of memory; it is none of those asked for\n",
                       text_of(given.plan), rounded(*given.time), rounded(given.memory));
  const FoundPlan& best = search.found.front();
  if (given.plan == best.plan) return "the plan of the experiment is the best\n";
  const double more = seconds(*given.time) / seconds(*best.time) - 1;
  const std::string compared =
      fmt::format("{}, {} {} than the best", rounded(*given.time), percent(std::abs(more)), more < 0 ? "less" : "more");
  const bool fits = given.memory <= search.capacity;
  std::string text =
      fits ? fmt::format("the plan of the experiment ({}) takes {}; {} faster\n", text_of(given.plan), compared,
                         faster_text(search))
           : fmt::format(
                 "the plan of the experiment ({}) does not fit: it needs {} of memory, more than the {} that plans "
                 "may need here; it would take {}\n",
                 text_of(given.plan), rounded(given.memory), rounded(search.capacity), compared);
  if (more > 0) text += fmt::format("  its difference: {}\n", difference_text(given, best));
  return text;
}

std::string space_text(const Search& search) {
  const std::string_view devices =
      search.packed ? "all devices, or as many of each node as groups fill" : "all devices";
  if (!search.knows_all)
    return fmt::format("{} plans use {}; stopped before it was known which of them fit", search.plans, devices);
  return fmt::format("{} plans use {}; {} of them fit in {} of memory{}", search.plans, devices, search.found.size(),
                     rounded(search.capacity),
                     !search.is_complete   ? "; stopped early"
                     : search.spent_budget ? "; the budget is spent"
                                           : "");
}

std::string proof_text(const Search& search) {
  if (search.simulated == 0) return "none simulated\n";
  const std::optional<Duration> bound = search.next_bound();
  const std::size_t shown = std::min(search.asked, search.simulated);
  if (!bound)
    return fmt::format("all {} simulated{}\n", search.simulated, search.bounds_hold ? "" : ", for bounds did not hold");
  std::string text = fmt::format("{} simulated", search.simulated);
  if (*bound == Duration{}) return text + "; of the others no bound is known\n";
  text += fmt::format("; none of the others takes less than {}", rounded(*bound));
  if (const std::size_t proven = std::min(search.proven(), shown); proven < shown) {
    const double best = seconds(*search.found.front().time);
    text += proven > 0
                ? fmt::format(": the first {} are proven", proven)
                : fmt::format(": the best of all may take {} less than the first", percent(1 - seconds(*bound) / best));
  }
  return text + "\n";
}

// Text on plans that fit by their arithmetic but may still run out of memory.
std::string tight_text(const Search& search, std::span<const FoundPlan> plans) {
  const auto tight =
      std::ranges::count_if(plans, [&](const FoundPlan& one) { return one.in_use > search.device_memory; });
  if (tight == 0) return {};
  const FoundPlan& fullest = *std::ranges::max_element(plans, {}, &FoundPlan::in_use);
  return fmt::format(
      "{} of these may run out of memory: with libraries and what the allocator cannot use, up to {} of {}\n", tight,
      rounded(fullest.in_use), rounded(search.device_memory));
}

// Reason why several plans have one rank.
std::string ties_text(const Search& search, std::size_t shown) {
  for (std::size_t i = 1; i < shown; ++i)
    if (search.rank_of(i) == search.rank_of(i - 1) && *search.found[i].time != *search.found[i - 1].time)
      return fmt::format("plans of one rank are not told apart: {}\n", ratio_error_text(*search.ratio));
  return {};
}

std::string refusals_text(const Search& search) {
  constexpr std::size_t kShown = 6;
  report::Table table({}, {"plans"}, {"infeasible (example)"});
  if (search.too_large > 0) {
    const Bytes least = search.least_memory->memory;
    const std::string capacity = rounded(search.capacity);
    const std::string needed = rounded(least) == capacity ? rounded(least - search.capacity) + " more" : rounded(least);
    table.row({fmt::format("{}", search.too_large), fmt::format("need more than {} of memory; the least {} ({})",
                                                                capacity, needed, text_of(search.least_memory->plan))});
  }
  for (std::size_t i = 0; i < std::min(kShown, search.refused.size()); ++i)
    table.row({fmt::format("{}", search.refused[i].count), printable(search.refused[i].reason, 110)});
  std::size_t others = 0;
  for (std::size_t i = kShown; i < search.refused.size(); ++i) others += search.refused[i].count;
  if (others > 0) table.row({fmt::format("{}", others), "for other reasons (--json has them)"});
  return search.too_large + search.refused.size() == 0 ? std::string() : "\n" + table.text();
}

Json plan_json(const FoundPlan& one) {
  Json plan;
  for (std::size_t i = 0; i < kPlanKeyCount; ++i) {
    const PlanKey key = key_at(i);
    if (has_words(key))
      plan[std::string(name_of(key))] = value_text(key, one.plan[key]);
    else if (key == PlanKey::kSequence)
      plan[std::string(name_of(key))] = one.plan[key] != 0;
    else
      plan[std::string(name_of(key))] = one.plan[key];
  }
  Json json = {{"plan", std::move(plan)}};
  if (one.time) json["iteration_time_s"] = seconds(*one.time);
  json["bound_s"] = seconds(one.bound);
  json["memory_bytes"] = one.memory.count();
  if (one.time) {
    for (const report::Figure* figure : report::keyed_figures())
      if (const auto value = one.values.find(figure->key); figure->is_of_plans && value != one.values.end())
        json[std::string(figure->key)] = report::to_json(value->second);
    json["parts"] = Json::array();
    for (const report::Part& part : one.parts)
      json["parts"].push_back({{"name", part.name}, {"seconds", part.seconds}});
    if (const auto bound = one.values.find("bound_by"); bound != one.values.end())
      json["bound_by"] = report::to_json(bound->second);
  }
  return json;
}

}  // namespace

std::vector<const report::Figure*> plan_columns() {
  std::vector<const report::Figure*> columns = report::keyed_figures();
  std::erase_if(columns, [](const report::Figure* figure) { return !figure->is_of_plans || !figure->is_default; });
  return columns;
}

std::string text_of(const Plan& plan) {
  const Plan plain;
  std::string text;
  for (const PlanKey key : kColumns)
    if (plan[key] != plain[key] && (key != PlanKey::kContextKind || plan[PlanKey::kContext] > 1))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(key), value_text(key, plan[key]));
  return text.empty() ? "one rank" : text;
}

std::string search_text(const Search& search) {
  const std::size_t shown = std::min(search.asked, search.simulated);
  std::string text =
      fmt::format("{}, on {}\n{}; ", search.job, search.devices, space_text(search)) + proof_text(search) + "\n";
  if (shown == 0) return text + given_text(search) + refusals_text(search);
  text += plans_text(std::span(search.found).first(shown), &search);
  text += ties_text(search, shown);
  text += tight_text(search, std::span(search.found).first(shown));
  if (search.interval) text += "of the first: " + report::interval_text(*search.interval);
  text += "\n" + given_text(search);
  const std::vector<FoundPlan> front = pareto_front(search);
  if (front.size() > 1)
    text += "\nfor less memory, of those simulated (--max-memory finds the fastest):\n\n" + plans_text(front, nullptr);
  text += refusals_text(search);
  if (!search.settings.empty()) {
    std::string options;
    for (const std::string& setting : search.settings.front())
      options += fmt::format("{}--set {}", options.empty() ? "" : " ", shell_quoted(setting));
    text += "\nthe best, for `orrery run`:\n" +
            report::wrapped(options, {.next = "  ", .at = report::Wrapping::Break::kShell});
  }
  return text;
}

Json search_json(const Search& search) {
  const std::size_t shown = std::min(search.asked, search.simulated);
  Json document = {{"schema", "orrery.search/1"},
                   {"job", search.job},
                   {"devices", search.devices},
                   {"device_count", search.device_count},
                   {"plans", search.plans}};
  if (!search.is_complete) document["stopped"] = true;
  if (search.spent_budget) document["budget_spent"] = true;
  if (search.knows_all) document["fit"] = search.found.size();
  document["simulated"] = search.simulated;
  document["most_memory_bytes"] = search.capacity.count();
  document["proven"] = std::min(search.proven(), shown);
  if (const auto bound = search.next_bound(); bound > Duration{}) document["next_bound_s"] = seconds(*bound);
  document["best"] = Json::array();
  for (std::size_t i = 0; i < shown; ++i) {
    document["best"].push_back(plan_json(search.found[i]));
    document["best"].back()["rank"] = search.rank_of(i);
    document["best"].back()["settings"] = search.settings[i];
  }
  if (search.interval)
    document["interval"] = {{"low_s", seconds(search.interval->low)},
                            {"high_s", seconds(search.interval->high)},
                            {"share", search.interval->share},
                            {"runs", search.interval->runs}};
  if (search.ratio) document["ratio_error"] = to_json(*search.ratio);
  document["others"] = Json::array();
  for (std::size_t i = shown; i < search.simulated; ++i) document["others"].push_back(plan_json(search.found[i]));
  if (search.given) {
    document["given"] = plan_json(*search.given);
    const auto [faster, maybe] = search.faster_than_given();
    document["given"]["faster_plans"] = faster;
    document["given"]["faster_plans_at_most"] = faster + maybe;
  }
  if (search.given_refusal) document["given_refusal"] = *search.given_refusal;
  document["refused"] = Json::array();
  if (search.too_large > 0)
    document["refused"].push_back({{"plans", search.too_large},
                                   {"reason", fmt::format("needs more than {} of memory", rounded(search.capacity))},
                                   {"first", plan_json(*search.least_memory)["plan"]}});
  for (const RefusedPlans& one : search.refused)
    document["refused"].push_back({{"plans", one.count},
                                   {"reason", one.reason},
                                   {"first", plan_json({one.first, {}, {}, {}, {}, {}, {}, {}, {}})["plan"]}});
  return document;
}

report::Document search_document() {
  using enum report::KeyType;
  using report::DocumentKeys, report::maybe;
  const report::DocumentKey plan{kMap, "plan", "", {{kAny, "<KEY>", "as `run --set workload.parallel.KEY` has it"}}};
  const DocumentKeys found = report::joined(
      {{plan,
        maybe({kNumber, "iteration_time_s", "of one that was simulated"}),
        {kNumber, "bound_s", "which no plan of these degrees beats"},
        {kWhole, "memory_bytes", "of the fullest rank"}},
       report::plan_keys(),
       {maybe({kList, "parts", "mean over ranks, largest first", {{kText, "name", ""}, {kNumber, "seconds", ""}}}),
        maybe({kText, "bound_by", "largest part of the critical path"})}});
  DocumentKeys best = found, given = found;
  best.push_back({kTexts, "settings", "as `run --set` takes them"});
  best.push_back(maybe({kWhole, "rank", "1 more than plans that are faster by more than `ratio_error`"}));
  given.push_back({kWhole, "faster_plans", "that were simulated"});
  given.push_back({kWhole, "faster_plans_at_most", "with those that may be, by their bounds"});
  const DocumentKeys counts = {{kWhole, "device_count", ""},
                               {kWhole, "plans", "that use all devices, or as many of each node as groups fill"},
                               {kTruth, "stopped", "before the end"},
                               {kWhole, "fit", "of them, the devices' memory"},
                               {kWhole, "simulated", ""},
                               {kWhole, "proven", "how many of the best are so without doubt"}};
  const DocumentKeys size =
      report::joined({{{kWhole, "nodes", ""}},
                      maybe(counts),
                      {maybe({kMap, "best", "", best}), maybe({kNumber, "training_days", "with `workload.tokens`"}),
                       maybe({kNumber, "cost", "of the whole training"}), maybe({kNumber, "energy_kwh", "likewise"}),
                       maybe({kText, "refusal", "why no plan was found"})}});
  return {
      "orrery.search/1",
      "`search --json`",
      "",
      {{kText, "job", ""},
       {kText, "devices", ""},
       {kWhole, "device_count", ""},
       {kWhole, "plans", "that use all devices, or as many of each node as groups fill"},
       maybe({kTruth, "stopped", "before the end"}),
       maybe({kTruth, "budget_spent", "though plans are left that may be among the best"}),
       maybe({kWhole, "fit", "of the plans, the devices' memory"}),
       {kWhole, "simulated", ""},
       {kWhole, "most_memory_bytes", "that a plan may need"},
       {kWhole, "proven", "how many of `best` are so without doubt"},
       maybe({kNumber, "next_bound_s", "which no plan that was not simulated beats"}),
       {kList, "best", "", best},
       maybe({kMap, "interval", "[how sure](results.md#how-sure-it-is) the time of the best is",
              report::interval_keys()}),
       maybe({kMap, "ratio_error", "by which times of two plans may be off", ratio_error_keys()}),
       maybe(
           {kMap, "launcher", "with `--launcher-flags`: the best as arguments of a launcher", report::launcher_keys()}),
       {kList, "others", "that were simulated", found},
       maybe({kMap, "given", "the plan of the experiment", given}),
       maybe({kText, "given_refusal", "why that is not compared"}),
       {kList,
        "refused",
        "infeasible plans, by reason",
        {{kWhole, "plans", "how many"}, {kText, "reason", ""}, {kMap, "first", "an example", {{kAny, "<KEY>", ""}}}}},
       maybe({kWhole, "nodes", "with `--nodes`: of the best size"}),
       maybe({kList, "sizes", "with `--nodes`: each size, the best first", size})}};
}

}  // namespace orrery::study
