// SPDX-License-Identifier: MIT
#include "study/sweep/store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/text.h"
#include "core/error.h"
#include "core/files/json.h"
#include "core/files/output_file.h"
#include "core/files/read_file.h"
#include "core/sha256.h"
#include "core/version.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "orrery.point/1";
constexpr std::size_t kLargestPoint = std::size_t{1} << 30;  // bytes

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

Json to_json(const SweepFigures& figures) {
  Json json = {{"time_ps", figures.iteration_time.count()}};
  if (figures.training) {
    const report::TrainingFigures& training = *figures.training;
    json["training"] = {{"mfu", training.mfu},
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

SweepFigures figures_of(const Json& json) {
  SweepFigures figures;
  figures.iteration_time = Duration(json.at("time_ps").get<std::int64_t>());
  if (json.contains("training")) {
    const Json& stored = json["training"];
    report::TrainingFigures& training = figures.training.emplace();
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

Json to_json(const SweepPoint& point) {
  Json json = {{"warnings", to_json(point.warnings)}, {"refusal", to_json(point.refusal)}};
  if (point.figures) json["figures"] = to_json(*point.figures);
  if (point.is_stuck()) json["stuck"] = point.stuck;
  return json;
}

SweepPoint point_of(const Json& json) {
  SweepPoint point;
  if (json.contains("figures")) point.figures = figures_of(json["figures"]);
  if (json.contains("stuck")) point.stuck = json["stuck"];
  point.warnings = problems_of(json.at("warnings"));
  point.refusal = problems_of(json.at("refusal"));
  if (!point.was_begun()) throw InputError({}, "a point without a result");
  return point;
}

std::string check_of(const Json& point, const Json& result) { return sha256_of(point.dump() + result.dump()); }

}  // namespace

std::string key_of(const experiment::Experiment& experiment, std::span<const std::string> files, bool allow_oom) {
  Sha256 hash;
  hash.add(fmt::format("{} {}\n{}", kVersion, allow_oom, yaml_text(experiment.resolved)));
  const std::vector<std::string> contents = digests_of(files);
  for (std::size_t i = 0; i < files.size(); ++i) hash.add(fmt::format("{} {}\n", files[i], contents[i]));
  return hash.finish();
}

PointStore::PointStore(std::filesystem::path folder, const std::string& part) : folder_(std::move(folder)) {
  std::error_code code;
  std::filesystem::create_directories(folder_, code);
  if (code) throw InputError({folder_.string()}, fmt::format("the folder cannot be made: {}", code.message()));
  lock("lock", part.empty() ? FolderUse::kAlone : FolderUse::kShared);
  if (!part.empty()) lock("lock." + part, FolderUse::kAlone);
}

void PointStore::lock(const std::string& name, FolderUse use) {
  if (locks_.emplace_back((folder_ / name).string(), use).is_held()) return;
  throw InputError({folder_.parent_path().string()}, "another sweep writes to this folder",
                   "wait for its end, or give another --out");
}

std::optional<PointStore::Stored> PointStore::find(const std::string& key) {
  const std::filesystem::path file = file_of(key);
  std::error_code code;
  const auto kind = std::filesystem::symlink_status(file, code).type();
  if (kind == std::filesystem::file_type::not_found) return std::nullopt;
  try {
    if (kind != std::filesystem::file_type::regular) throw InputError({}, "not what was written");
    const Json document = parse_json<Json>(read_file(file.string(), {.most = kLargestPoint, .is_noted = false}));
    Stored stored;
    if (document.at("schema") != kSchema || document.at("key") != key ||
        document.at("check") != check_of(document.at("point"), document.at("result")))
      throw InputError({}, "not what was written");
    stored.point = point_of(document["point"]);
    stored.result = document["result"];
    const std::lock_guard guard(mutex_);
    used_.insert(file.filename());
    ++found_;
    return stored;
  } catch (const std::exception&) {  // of JSON, or of what it says
    const std::lock_guard guard(mutex_);
    if (std::ranges::find(damaged_, file.string()) == damaged_.end()) damaged_.push_back(file.string());
    return std::nullopt;
  }
}

void PointStore::keep(const std::string& key, const Stored& stored) {
  const std::filesystem::path file = file_of(key);
  const Json point = to_json(stored.point);
  const Json document = {{"schema", kSchema},
                         {"key", key},
                         {"check", check_of(point, stored.result)},
                         {"point", point},
                         {"result", stored.result}};
  const std::lock_guard guard(mutex_);  // points that are alike have one file
  std::error_code code;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, code)))
    std::filesystem::remove(file, code);
  OutputFile out(file.string(), Durability::kNone);  // what is lost is simulated again
  out.write(document.dump() + "\n");
  out.close();
  used_.insert(file.filename());
}

std::set<std::string> PointStore::keys() const {
  std::set<std::string> keys;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, code))
    if (entry.path().extension() == ".json") keys.insert(entry.path().stem());
  return keys;
}

std::size_t PointStore::clear_others() {
  remove_partial_files(folder_.string());
  std::vector<std::filesystem::path> others;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, code)) {
    const std::filesystem::path& path = entry.path();
    if (used_.contains(path.filename())) continue;
    if (path.extension() == ".json") others.push_back(path);
  }
  for (const std::filesystem::path& path : others)
    if (!std::filesystem::remove(path, code))
      throw InputError({path.string()}, fmt::format("cannot be removed: {}", code.message()));
  return others.size();
}

void PointStore::clear() {
  used_.clear();
  clear_others();
}

}  // namespace orrery::study
