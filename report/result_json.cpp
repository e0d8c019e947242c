// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/config/config.h"
#include "core/version.h"
#include "report/figures.h"
#include "report/parts.h"
#include "report/result.h"

namespace orrery::report {
namespace {

using Json = nlohmann::ordered_json;

Json texts(std::span<const std::string> words) {
  Json list = Json::array();
  for (const std::string& word : words) list.push_back(printable(word, 120));
  return list;
}

// A training job's communication by kind, that of traces by the groups that they name.
Json breakdown_json(const Result& result, std::size_t number, const std::vector<std::size_t>& ranks) {
  const Breakdown& b = result.classes[number];
  Json exposed = Json::object();
  for (const auto& [name, time] : result.training ? parts_of(b, result).exposed : b.exposed)
    exposed[printable(name, SIZE_MAX)] = seconds(time);
  Json json = {{"class", number},
               {"ranks", ranks.size()},
               {"first_rank", ranks.front()},
               {"members", rank_ranges(ranks)},
               {"compute_s", seconds(b.compute)},
               {"slowed_s", seconds(b.slowed)},
               {"host_s", seconds(b.host)},
               {"memory_s", seconds(b.memory)},
               {"exposed_comm_s", std::move(exposed)},
               {"bubble_s", seconds(b.bubble)},
               {"wait_s", seconds(b.wait)},
               {"idle_s", seconds(b.idle)},
               {"finish_s", seconds(b.finish)}};
  if (b.loading > Duration::zero()) json["loading_s"] = seconds(b.loading);
  if (b.host_pace > Duration::zero()) json["host_pace_s"] = seconds(b.host_pace);
  return json;
}

Json split_json(const system::FoldingStep& split) {
  Json apart = Json::array();
  for (const system::FoldingStep::Apart& part : split.came_apart)
    apart.push_back({{"rank", index_of(part.rank)}, {"from", index_of(part.from)}});
  return {{"time_s", seconds(split.time.time_since_epoch())},
          {"rank_classes_before", split.rank_classes_before},
          {"rank_classes", split.rank_classes},
          {"first_used", split.first_used},
          {"came_apart", std::move(apart)}};
}

Json interval_json(const TimeInterval& interval) {
  Json json = {{"low_s", seconds(interval.low)}, {"high_s", seconds(interval.high)},
               {"share", interval.share},        {"runs", interval.runs},
               {"families", interval.families},  {"of", printable(interval.of, 120)}};
  if (!interval.beyond.empty()) json["beyond"] = interval.beyond;
  return json;
}

Json links_json(const std::vector<LinkClassUse>& links) {
  Json list = Json::array();
  for (const LinkClassUse& use : links) {
    Json link = {{"class", use.name},
                 {"count", use.count},
                 {"bytes", use.bytes},
                 {"busy", use.busy},
                 {"mean_utilisation", use.mean_utilisation},
                 {"max_utilisation", use.most}};
    if (use.most > 0) link["busiest"] = use.busiest;
    list.push_back(std::move(link));
  }
  return list;
}

Json memory_json(const FigureSource& source) {
  Json json = Json::object();
  put_figures(FigureGroup::kMemory, source, json);
  for (std::size_t use = 0; use < workload::kMemoryUseCount; ++use)
    json["by"][workload::name_of(static_cast<workload::MemoryUse>(use))] = source.training->memory.by[use].count();
  for (const StageMemory& stage : source.training->stages)
    json["stages"].push_back(
        {{"rank", index_of(stage.rank)}, {"rest_bytes", stage.rest.count()}, {"peak_bytes", stage.peak.count()}});
  return json;
}

constexpr std::size_t kMostKernels = 100;

Json kernels_json(const TrainingFigures& figures) {
  double whole = 0;
  for (const KernelFigures& kernel : figures.kernels) whole += kernel.seconds;
  Json kernels = Json::array();
  for (const KernelFigures& kernel : std::span(figures.kernels).first(std::min(figures.kernels.size(), kMostKernels)))
    kernels.push_back({{"kind", kernel.kind},
                       {"sizes", kernel.sizes},
                       {"count", kernel.count},
                       {"seconds", kernel.seconds},
                       {"share", whole > 0 ? kernel.seconds / whole : 0},
                       {"flops", kernel.flops},
                       {"bytes", kernel.bytes}});
  if (figures.has_measured_kernels)
    for (std::size_t i = 0; i < kernels.size(); ++i)
      kernels[i]["measured"] =
          figures.kernels[i].seconds > 0 ? figures.kernels[i].measured_seconds / figures.kernels[i].seconds : 0;
  return kernels;
}

void add_training(const FigureSource& source, Json& document) {
  const TrainingFigures& figures = *source.training;
  put_figures(FigureGroup::kTraining, source, document);
  for (const WeightAge& age : figures.ages)
    document["weight_age"].push_back({{"rank", index_of(age.rank)}, {"mean", age.mean}, {"most", age.most}});
  if (figures.run) put_figures(FigureGroup::kWholeTraining, source, document["training_run"]);
  if (!figures.kernels.empty()) document["kernels"] = kernels_json(figures);
  put_figures(FigureGroup::kKernels, source, document);
}

Json job_json(const JobFigures& job) {
  Json json = {{"name", printable(job.name, SIZE_MAX)},
               {"ranks", job.ranks.size()},
               {"members", rank_ranges(job.ranks)},
               {"devices", rank_ranges(job.devices)},
               {"nodes", job.nodes},
               {"iterations", job.iterations},
               {"time_alone_s", seconds(job.alone)},
               {"time_together_s", seconds(job.together)},
               {"slowdown", job.slowdown()},
               {"finish_s", seconds(job.finish)}};
  if (job.training) {
    const FigureSource source{job.together, &*job.training};
    add_training(source, json);
    json["memory"] = memory_json(source);
  }
  return json;
}

void add_jobs(const Result& result, Json& document) {
  document["jobs"] = Json::array();
  for (const JobFigures& job : result.jobs) document["jobs"].push_back(job_json(job));
  document["shared_links"] = Json::array();
  for (const SharedLinks& shared : result.shared_links) {
    Json bytes = Json::object();
    for (std::size_t job = 0; job < result.jobs.size(); ++job)
      bytes[printable(result.jobs[job].name, SIZE_MAX)] = shared.bytes[job];
    document["shared_links"].push_back({{"class", shared.name},
                                        {"count", shared.count},
                                        {"of", shared.of_class},
                                        {"busiest", shared.busiest},
                                        {"bytes", std::move(bytes)}});
  }
}

Json source_json(const ResultSource& source, bool deterministic) {
  Json inputs = Json::array();
  for (const InputFile& file : source.inputs)
    inputs.push_back({{"path", file.path},
                      {"kind", file.kind == InputKind::kConfiguration ? "configuration" : "data"},
                      {"sha256", file.sha256}});
  Json json = {{"file", source.file}, {"set", source.settings}, {"options", source.options}, {"commit", source.commit}};
  if (!deterministic) json["folder"] = source.folder;
  json["inputs"] = std::move(inputs);
  return json;
}

// Without the places in configurations: the document holds the experiment, not its files. Of a trace its name.
std::string warning_text(Problem warning, const Result& result) {
  const Location& where = warning.where;
  const auto name_of_file = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  const std::string name = name_of_file(where.file);
  const bool is_configuration = where.line > 0 || where.file.starts_with("--set ") || name.ends_with(".yaml") ||
                                name.ends_with(".yml") || (result.source && name == name_of_file(result.source->file));
  warning.where = {is_configuration ? std::string() : name};
  return to_string(warning);
}

Json culprits_json(const std::vector<Culprit>& culprits) {
  Json list = Json::array();
  for (const Culprit& culprit : culprits)
    list.push_back({{"name", culprit.name},
                    {"why", culprit.why},
                    {"seconds", seconds(culprit.time)},
                    {"cost_s", seconds(culprit.cost)}});
  return list;
}

Json simulation_json(const Result& result, bool deterministic) {
  Json simulation = {{"events", result.events}, {"messages", result.messages}};
  if (result.fast_forwarded > 0) simulation["fast_forwarded"] = result.fast_forwarded;
  if (result.repeated_operations > 0) simulation["repeated_operations"] = result.repeated_operations;
  if (!result.by_events.empty()) simulation["by_events"] = result.by_events;
  if (!deterministic) {
    simulation["wall_s"] = result.wall_seconds;
    simulation["peak_rss_bytes"] = result.peak_rss_bytes;
  }
  simulation["granularity"] = result.granularity;
  simulation["model"] = result.network_model;
  simulation["folded"] = result.folded;
  simulation["folding"] = result.folding;
  simulation["splits"] = Json::array();
  for (const system::FoldingStep& split : result.splits) simulation["splits"].push_back(split_json(split));
  return simulation;
}

}  // namespace

Json to_json(const Result& result, bool deterministic) {
  Json document = {{"schema", "orrery.result/1"}, {"version", kVersion}, {"experiment", to_json(result.experiment)}};
  if (result.source) document["provenance"] = source_json(*result.source, deterministic);
  const FigureSource source = figure_source(result);
  put_figures(FigureGroup::kAll, source, document);
  if (result.interval) document["interval"] = interval_json(*result.interval);
  if (!result.by_hand.empty()) document["by_hand"] = printable(result.by_hand, 120);
  if (result.nearest)
    document["nearest_run"] = {{"name", printable(result.nearest->name, 120)},
                               {"family", printable(result.nearest->family, 120)},
                               {"plan", printable(result.nearest->plan, 300)},
                               {"measured_s", seconds(result.nearest->measured)},
                               {"error", result.nearest->error},
                               {"unlike", texts(result.nearest->unlike)},
                               {"not_compared", texts(result.nearest->not_compared)}};
  document["ranks"] = result.class_of_rank.size();
  document["cluster_devices"] = result.devices;
  if (result.packed)
    document["packed"] = {{"groups", result.packed->groups},
                          {"devices_in_use", result.packed->in_use},
                          {"devices_per_node", result.packed->of}};
  document["rank_classes"] = result.classes.size();
  document["link_classes"] = result.link_classes;
  if (result.initial > Duration::zero()) document["initial_broadcast_s"] = seconds(result.initial);
  if (result.iterations > 1) document["iterations"] = result.iterations;
  if (result.iterations > 1 || result.initial > Duration::zero()) {
    document["total_time_s"] = seconds(result.finish);  // which the breakdown sums to
  }
  if (result.training) add_training(source, document);
  if (result.call)
    document["collective"] = {{"operation", result.call->operation}, {"bytes", result.call->size.count()}};
  for (const RooflineFigures& one : result.roofline)
    document["roofline"].push_back(
        {{"device", printable(one.device, 120)}, {"peak_share", one.peak_share}, {"memory_share", one.memory_share}});
  if (result.product) document["product"] = {{"sizes", result.product->sizes}};
  put_figures(FigureGroup::kCall, source, document);
  put_figures(FigureGroup::kProduct, source, document);
  if (!result.jobs.empty()) add_jobs(result, document);
  Json breakdown = Json::array();
  std::vector<std::vector<std::size_t>> ranks(result.classes.size());
  for (std::size_t rank = 0; rank < result.class_of_rank.size(); ++rank)
    ranks[result.class_of_rank[rank]].push_back(rank);
  for (std::size_t i = 0; i < result.classes.size(); ++i) breakdown.push_back(breakdown_json(result, i, ranks[i]));
  document["breakdown"] = std::move(breakdown);
  if (result.training) document["memory"] = memory_json(source);
  document["links"] = links_json(result.links);
  if (result.busiest_link)
    document["busiest_link"] = {{"name", result.busiest_link->name}, {"busy", result.busiest_link->busy}};
  if (!result.path.empty()) document["culprits"] = culprits_json(result.culprits);
  if (!result.evidence.empty()) document["evidence"] = to_json(result.evidence, false);
  Json warnings = Json::array();
  for (const Problem& warning : result.warnings) warnings.push_back(warning_text(warning, result));
  document["warnings"] = std::move(warnings);
  document["simulation"] = simulation_json(result, deterministic);
  return document;
}

}  // namespace orrery::report
