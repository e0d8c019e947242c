// SPDX-License-Identifier: MIT
#include "study/search/sizes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "report/table.h"

namespace orrery::study {
namespace {

constexpr std::array<std::string_view, 4> kObjectives = {"time", "tokens", "cost", "energy"};

const FoundPlan& best_of(const SizedSearch& size) { return size.search->found.front(); }

// Value to minimise for the best plan.
double value_of(const SizedSearch& size, Objective objective, const std::string& file) {
  const FoundPlan& best = best_of(size);
  const double device_seconds = seconds(*best.time) * static_cast<double>(size.search->device_count);
  const std::optional<report::TrainingRun> run = report::whole_training(best.values);
  switch (objective) {
    case Objective::kTime:
      return seconds(*best.time);
    case Objective::kTokens:
      return device_seconds;
    case Objective::kCost:
      if (!run || !run->cost)
        throw InputError({file}, "the cost of a plan is not known",
                         "give workload.tokens, of the whole training, and workload.price, of a device-hour");
      return *run->cost;
    case Objective::kEnergy:
      if (!run || !run->kilowatt_hours)
        throw InputError({file}, "the energy of a plan is not known",
                         "give workload.tokens, of the whole training; and a device that has its power");
      return *run->kilowatt_hours;
  }
  return 0;
}

report::Cell plan_figure(const std::optional<double>& figure) {
  return figure ? report::Cell::number(*figure) : report::Cell("-");
}

}  // namespace

std::vector<std::string> objective_names() { return {kObjectives.begin(), kObjectives.end()}; }

std::vector<SizedSearch> search_sizes(const SearchRequest& request, std::span<const std::int64_t> nodes,
                                      Objective objective, Points& points, const ConfigFiles& files) {
  // 1. Search each. One that lacks plans of other parts does not keep this part from the next.
  std::vector<SizedSearch> sizes;
  bool is_missing = false;
  for (const std::int64_t count : nodes) {
    SizedSearch& size = sizes.emplace_back();
    size.nodes = count;
    SearchRequest sized = request;
    sized.settings.push_back(fmt::format("nodes={}", count));
    size.settings = sized.settings;
    try {
      size.search = search_plans(sized, points, files);
    } catch (const PointsMissing&) {
      is_missing = true;
    } catch (const InputError& error) {
      size.refusal.assign(error.problems().begin(), error.problems().end());
    }
  }
  if (is_missing) throw PointsMissing();
  // 2. Put them in order: the best first, then those that were stopped before any plan, then those without a plan.
  if (std::ranges::none_of(sizes, [](const SizedSearch& size) { return size.search.has_value(); }))
    throw InputError(std::move(sizes.front().refusal));
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<std::tuple<bool, double, SizedSearch>> keyed;
  for (SizedSearch& size : sizes) {
    const double value = size.has_best() ? value_of(size, objective, request.file) : kNone;
    keyed.emplace_back(!size.search, value, std::move(size));
  }
  std::ranges::stable_sort(keyed, {}, [](const auto& one) { return std::pair(std::get<0>(one), std::get<1>(one)); });
  sizes.clear();
  for (auto& [is_refused, value, size] : keyed) sizes.push_back(std::move(size));
  return sizes;
}

std::string sizes_text(std::span<const SizedSearch> sizes) {
  report::Table table({}, {"nodes", "devices", "best time"});
  const bool has_run = sizes.front().has_best() && report::whole_training(best_of(sizes.front()).values);
  for (const report::Figure* figure : plan_columns()) table.column(std::string(figure->heading));
  table.column("per device");
  if (has_run)
    for (const char* heading : {"training", "device-hours", "cost", "energy kWh"}) table.column(heading);
  table.column("best plan", report::Table::Align::kLeft, report::Interest::kRemark);
  const std::size_t columns = (has_run ? 9 : 5) + plan_columns().size();
  for (const SizedSearch& size : sizes) {
    std::vector<report::Cell> cells = {fmt::format("{}", size.nodes)};
    if (size.has_best()) {
      const FoundPlan& best = best_of(size);
      cells.insert(cells.end(), {fmt::format("{}", size.search->device_count), *best.time});
      for (const report::Figure* figure : plan_columns())
        cells.push_back(report::column_cell(best.values, figure->column_name()));
      cells.push_back(report::column_cell(best.values, "throughput"));
      if (has_run) {
        const report::TrainingRun run = report::whole_training(best.values).value_or(report::TrainingRun{});
        cells.insert(cells.end(), {report::Cell::long_time(run.seconds), report::Cell::number(run.device_hours),
                                   plan_figure(run.cost), plan_figure(run.kilowatt_hours)});
      }
      cells.push_back(text_of(best.plan));
    } else {
      while (cells.size() + 1 < columns) cells.emplace_back("-");
      cells.push_back(size.search ? "stopped before any plan was simulated"
                                  : printable(size.refusal.front().message, 100));
    }
    table.row(std::move(cells));
  }
  return table.text() + fmt::format("\nof {} nodes: ", sizes.front().nodes) + search_text(*sizes.front().search);
}

nlohmann::ordered_json sizes_json(std::span<const SizedSearch> sizes) {
  nlohmann::ordered_json document = search_json(*sizes.front().search);
  document["nodes"] = sizes.front().nodes;
  document["sizes"] = nlohmann::ordered_json::array();
  for (const SizedSearch& size : sizes) {
    nlohmann::ordered_json one = {{"nodes", size.nodes}};
    if (size.search) {
      nlohmann::ordered_json searched = search_json(*size.search);
      for (const char* key : {"device_count", "plans", "stopped", "fit", "simulated", "proven"})
        if (searched.contains(key)) one[key] = searched[key];
      if (size.has_best()) one["best"] = std::move(searched["best"][0]);
      if (const auto run = size.has_best() ? report::whole_training(best_of(size).values) : std::nullopt) {
        one["training_days"] = run->seconds / kDay;
        if (run->cost) one["cost"] = *run->cost;
        if (run->kilowatt_hours) one["energy_kwh"] = *run->kilowatt_hours;
      }
    } else {
      one["refusal"] = size.refusal.front().message;
    }
    document["sizes"].push_back(std::move(one));
  }
  return document;
}

}  // namespace orrery::study
