// SPDX-License-Identifier: MIT
#include "study/points/point.h"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "network/fabric/fabric.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const report::TrainingRun& run) {
  Json json = {{"seconds", run.seconds}, {"device_hours", run.device_hours}};
  if (run.kilowatt_hours) json["kilowatt_hours"] = *run.kilowatt_hours;
  if (run.cost) json["cost"] = *run.cost;
  return json;
}

report::TrainingRun run_of(const Json& json) {
  report::TrainingRun run;
  run.seconds = json.at("seconds");
  run.device_hours = json.at("device_hours");
  if (json.contains("kilowatt_hours")) run.kilowatt_hours = json["kilowatt_hours"].get<double>();
  if (json.contains("cost")) run.cost = json["cost"].get<double>();
  return run;
}

Json to_json(const PointFigures& figures) {
  Json json = {{"time_ps", figures.iteration_time.count()},
               {"ranks", figures.ranks},
               {"devices", figures.devices},
               {"device", figures.device},
               {"computes_as_measured", figures.computes_as_measured}};
  if (figures.training) {
    const report::TrainingFigures& training = *figures.training;
    json["training"] = {{"job", training.job},
                        {"mfu", training.mfu},
                        {"tflops", training.model_tflops_per_gpu},
                        {"rate", training.tokens_per_s_per_gpu},
                        {"has_tokens", training.has_tokens},
                        {"memory", Json::array()}};
    for (const Bytes use : training.memory.by) json["training"]["memory"].push_back(use.count());
    if (training.run) json["training"]["run"] = to_json(*training.run);
  }
  if (figures.call)
    json["call"] = {{"operation", figures.call->operation},
                    {"size", figures.call->size.count()},
                    {"algorithm_bandwidth", figures.call->algorithm_bandwidth},
                    {"bus_bandwidth", figures.call->bus_bandwidth}};
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

PointFigures figures_in(const Json& json) {
  PointFigures figures;
  figures.iteration_time = Duration(json.at("time_ps").get<std::int64_t>());
  figures.ranks = json.at("ranks");
  figures.devices = json.at("devices");
  figures.device = json.at("device");
  figures.computes_as_measured = json.at("computes_as_measured");
  if (json.contains("training")) {
    const Json& stored = json["training"];
    report::TrainingFigures& training = figures.training.emplace();
    training.job = stored.at("job");
    training.mfu = stored.at("mfu");
    training.model_tflops_per_gpu = stored.at("tflops");
    training.tokens_per_s_per_gpu = stored.at("rate");
    training.has_tokens = stored.at("has_tokens");
    for (std::size_t i = 0; i < training.memory.by.size(); ++i)
      training.memory.by[i] = Bytes(stored.at("memory").at(i).get<std::int64_t>());
    if (stored.contains("run")) training.run = run_of(stored["run"]);
  }
  if (json.contains("call")) {
    const Json& call = json["call"];
    figures.call =
        report::CallFigures{call.at("operation").get<std::string>(), Bytes(call.at("size").get<std::int64_t>()),
                            call.at("algorithm_bandwidth").get<double>(), call.at("bus_bandwidth").get<double>()};
  }
  if (json.contains("jobs"))
    for (const Json& stored : json["jobs"]) {
      report::JobFigures& job = figures.jobs.emplace_back();
      job.name = stored.at("name");
      job.alone = Duration(stored.at("alone_ps").get<std::int64_t>());
      job.together = Duration(stored.at("together_ps").get<std::int64_t>());
    }
  for (const Json& part : json.at("parts"))
    figures.parts.push_back({part.at(0), part.at(1), static_cast<report::PartKind>(part.at(2).get<int>()), part.at(3)});
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
    problem.where = {stored.at("file"), stored.at("line"), stored.at("column")};
    problem.message = stored.at("message");
    problem.hint = stored.at("hint");
    problem.node = stored.at("node");
    problem.tight_memory = stored.at("tight_memory");
    problem.out_of_memory = stored.at("out_of_memory");
    if (stored.contains("rank")) problem.rank = stored["rank"].get<std::uint32_t>();
  }
  return problems;
}

std::vector<std::pair<std::string, double>> links_of(const report::Result& result) {
  std::vector<std::pair<std::string, double>> links;
  for (const report::LinkClassUse& use : result.links) {
    const std::string name = network::without_direction(use.name);
    const auto known = std::ranges::find(links, name, &std::pair<std::string, double>::first);
    if (known != links.end())
      known->second = std::max(known->second, use.most);
    else
      links.emplace_back(name, use.most);
  }
  std::erase_if(links, [](const auto& link) { return link.second <= 0; });
  std::ranges::stable_sort(links, std::ranges::greater{}, &std::pair<std::string, double>::second);
  return links;
}

}  // namespace

PointFigures figures_of(const report::Result& result) {
  PointFigures figures{report::iteration_time(result),
                       result.training,
                       result.call,
                       result.jobs,
                       report::mean_parts(result),
                       links_of(result),
                       result.class_of_rank.size(),
                       result.devices,
                       result.device,
                       result.computes_as_measured};
  for (report::Part& part : figures.parts) part.seconds /= static_cast<double>(result.iterations);
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
    if (stuck.contains("rank")) point.stuck_rank = stuck["rank"].get<std::uint32_t>();
  }
  point.warnings = problems_of(json.at("warnings"));
  point.refusal = problems_of(json.at("refusal"));
  if (!point.was_begun()) throw InputError({}, "a point without a result");
  return point;
}

}  // namespace orrery::study
