// SPDX-License-Identifier: MIT
#include "study/points/point.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/quantity_text.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const PointFigures& figures) {
  Json json = {{"time_ps", figures.iteration_time.count()},
               {"ranks", figures.ranks},
               {"devices", figures.devices},
               {"device", figures.device},
               {"job", figures.job},
               {"computes_as_measured", figures.computes_as_measured},
               {"values", Json::object()}};
  for (const auto& [name, value] : figures.values) json["values"][name] = report::to_json(value);
  for (const report::JobFigures& job : figures.jobs)
    json["jobs"].push_back(
        {{"name", job.name}, {"alone_ps", job.alone.count()}, {"together_ps", job.together.count()}});
  json["parts"] = Json::array();
  for (const report::Part& part : figures.parts)
    json["parts"].push_back({part.name, part.seconds, static_cast<int>(part.kind), part.family});
  json["links"] = Json::array();
  for (const auto& [name, use] : figures.links) json["links"].push_back({name, use});
  return json;
}

// A whole number of that type. InputError for any other value: nlohmann's own conversion takes all numbers, also those
// that the type does not hold.
template <class Number>
Number whole(const Json& json) {
  if (json.is_number_unsigned()) {
    if (const auto number = json.get<std::uint64_t>(); std::in_range<Number>(number))
      return static_cast<Number>(number);
  } else if (json.is_number_integer()) {
    if (const auto number = json.get<std::int64_t>(); std::in_range<Number>(number)) return static_cast<Number>(number);
  }
  throw InputError({}, "a number that is not whole, or too large");
}

report::PartKind part_kind_of(int number) {
  if (number < 0 || number > static_cast<int>(report::PartKind::kSlowed)) throw InputError({}, "a part of no kind");
  return static_cast<report::PartKind>(number);
}

PointFigures figures_in(const Json& json) {
  PointFigures figures;
  figures.iteration_time = Duration(whole<std::int64_t>(json.at("time_ps")));
  figures.ranks = whole<decltype(figures.ranks)>(json.at("ranks"));
  figures.devices = whole<decltype(figures.devices)>(json.at("devices"));
  figures.device = json.at("device");
  figures.job = json.at("job");
  figures.computes_as_measured = json.at("computes_as_measured");
  for (const auto& [name, value] : json.at("values").items()) figures.values.emplace(name, report::value_of(value));
  if (json.contains("jobs"))
    for (const Json& stored : json["jobs"]) {
      report::JobFigures& job = figures.jobs.emplace_back();
      job.name = stored.at("name");
      job.alone = Duration(whole<std::int64_t>(stored.at("alone_ps")));
      job.together = Duration(whole<std::int64_t>(stored.at("together_ps")));
    }
  for (const Json& part : json.at("parts"))
    figures.parts.push_back({part.at(0), part.at(1), part_kind_of(whole<int>(part.at(2))), part.at(3)});
  for (const Json& link : json.at("links"))
    figures.links.emplace_back(link.at(0).get<std::string>(), link.at(1).get<double>());
  return figures;
}

Json to_json(const std::vector<Problem>& problems) {
  Json list = Json::array();
  for (const Problem& problem : problems) {
    list.push_back({{"is_warning", problem.severity == Severity::kWarning},
                    {"file", problem.where.file},
                    {"line", problem.where.line},
                    {"column", problem.where.column},
                    {"message", problem.message},
                    {"hint", problem.hint},
                    {"node", problem.node},
                    {"tight_memory", problem.tight_memory},
                    {"out_of_memory", problem.out_of_memory}});
    if (problem.rank) list.back()["rank"] = *problem.rank;
  }
  return list;
}

std::vector<Problem> problems_of(const Json& list) {
  std::vector<Problem> problems;
  for (const Json& stored : list) {
    Problem& problem = problems.emplace_back();
    problem.severity = stored.at("is_warning").get<bool>() ? Severity::kWarning : Severity::kError;
    problem.where = {stored.at("file"), whole<int>(stored.at("line")), whole<int>(stored.at("column"))};
    problem.message = stored.at("message");
    problem.hint = stored.at("hint");
    problem.node = stored.at("node");
    problem.tight_memory = stored.at("tight_memory");
    problem.out_of_memory = stored.at("out_of_memory");
    if (stored.contains("rank")) problem.rank = whole<std::uint32_t>(stored["rank"]);
  }
  return problems;
}

}  // namespace

PointFigures figures_of(const report::Result& result) {
  report::FigureSource source = report::figure_source(result);
  PointFigures figures{source.iteration,
                       report::figure_values(source),
                       result.jobs,
                       std::move(source.parts),
                       std::move(source.links),
                       result.class_of_rank.size(),
                       result.devices,
                       result.device,
                       {},
                       result.computes_as_measured};
  if (result.training) figures.job = result.training->job;
  if (result.product) figures.job = fmt::format("product {}", result.product->sizes);
  if (result.call) figures.job = fmt::format("{} of {}", result.call->operation, rounded(result.call->size));
  return figures;
}

void throw_unless_ran(const Point& point) {
  if (point.is_stuck()) throw StuckError(point.stuck, point.stuck_rank, point.stuck_node);
  if (point.refusal.empty()) return;
  std::vector<Problem> problems = point.warnings;  // which may be why it is an error
  problems.insert(problems.end(), point.refusal.begin(), point.refusal.end());
  throw InputError(std::move(problems));
}

Json to_json(const Point& point) {
  Json json = {{"warnings", to_json(point.warnings)}, {"refusal", to_json(point.refusal)}};
  if (point.figures) json["figures"] = to_json(*point.figures);
  if (point.is_stuck()) json["stuck"] = {{"report", point.stuck}, {"node", point.stuck_node}};
  if (point.stuck_rank) json["stuck"]["rank"] = *point.stuck_rank;
  return json;
}

Point point_of(const Json& json) {
  Point point;
  if (json.contains("figures")) point.figures = figures_in(json["figures"]);
  if (json.contains("stuck")) {
    const Json& stuck = json["stuck"];
    point.stuck = stuck.at("report");
    point.stuck_node = stuck.at("node");
    if (stuck.contains("rank")) point.stuck_rank = whole<std::uint32_t>(stuck["rank"]);
  }
  point.warnings = problems_of(json.at("warnings"));
  point.refusal = problems_of(json.at("refusal"));
  if (!point.was_begun()) throw InputError({}, "a point without a result");
  return point;
}

}  // namespace orrery::study
