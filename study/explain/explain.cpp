// SPDX-License-Identifier: MIT
#include "study/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "experiment/job.h"
#include "experiment/plans/levers.h"
#include "experiment/recorded_run.h"
#include "experiment/runs/run.h"
#include "report/figures.h"
#include "study/compare/no_difference.h"
#include "study/interval/interval.h"
#include "study/interval/kinds.h"

namespace orrery::study {
namespace {

// The first thing that is wrong, without its particulars.
std::string phrase_of(const Problem& first) {
  if (!first.out_of_memory) return printable(first.message, 400);
  // "needs 107.7 GiB" of "rank 0 needs 107.7 GiB of memory, its device has ..."
  const std::size_t needs = std::min(first.message.find("needs"), first.message.size());
  return "out of memory: " + printable(first.message.substr(needs, first.message.find(" of memory") - needs));
}

void take_point(const Point& point, Variant& variant) {
  if (!point.ran()) {
    variant.refusal = point.is_stuck() ? "the job cannot finish" : phrase_of(point.refusal.front());
    return;
  }
  variant.time = point.figures->iteration_time;
  const report::FigureValues& values = point.figures->values;
  const auto need = report::number_of(values, "memory_peak_bytes");
  const auto capacity = report::number_of(values, "memory.capacity_bytes");
  if (need && capacity && *need > *capacity)
    variant.need = Bytes(std::llround(*need)), variant.capacity = Bytes(std::llround(*capacity));
  variant.run = report::whole_training(point.figures->values);
}

void take_base(const Point& base, Explanation& explanation) {
  throw_unless_ran(base);
  take_point(base, explanation.base);
  const PointFigures& figures = *base.figures;
  explanation.job = figures.job;
  explanation.devices = fmt::format("{} on {} {}", counted(figures.ranks, "rank"), counted(figures.devices, "device"),
                                    printable(figures.device));
  explanation.computes_as_measured = figures.computes_as_measured;
  explanation.warnings = base.warnings;
}

std::vector<ExplainedResource> resources_in(const ConfigValue& resolved) {
  std::vector<ExplainedResource> explained;
  for (Resource& resource : resources_of(resolved)) {
    const auto variant = [&](Better better) {
      return Variant{fmt::format("{} x{}", resource.name, factor_of(better)), settings_of(resource, better), {}, {}};
    };
    Variant slightly = variant(Better::kSlightly), twice = variant(Better::kTwice);
    explained.push_back({std::move(resource), std::move(slightly), std::move(twice)});
  }
  return explained;
}

std::vector<Variant> changes_in(const experiment::Experiment& experiment) {
  const ConfigValue& resolved = experiment.resolved;
  std::vector<Variant> changes;
  const ConfigEntry* perturb = resolved.find("perturb");
  if (perturb != nullptr && !perturb->value.entries.empty())
    changes.push_back({"no perturbation", {"perturb={}"}, {}, {}});
  const auto& training = experiment.jobs.front().workload.training;
  const bool is_only = experiment.jobs.size() == 1 && training;
  for (Neighbour& plan : neighbours_of(resolved, is_only ? &*training : nullptr))
    changes.push_back({std::move(plan.name), std::move(plan.settings), {}, {}, std::move(plan.refusal)});
  return changes;
}

// Other placements of a job whose groups do not fill nodes evenly.
void add_placement(const experiment::Experiment& experiment, std::vector<Variant>& changes) {
  const std::optional<experiment::Packing> wanted = experiment::packing_wanted(experiment);
  if (!wanted) return;
  if (experiment::packing_of(experiment)) {
    changes.push_back({"placement dense", {"placement=dense"}, {}, {}});
    return;
  }
  const std::int64_t nodes = experiment.fabric.device_count() / wanted->per_node;
  std::vector<std::string> settings = {"placement=packed"};
  std::string name = fmt::format("placement by {} of {} devices of a node", wanted->of_node, wanted->per_node);
  if (wanted->nodes > nodes) {
    if (!experiment.placement.has_nodes) return;
    name += fmt::format(", on {} nodes", wanted->nodes);
    settings.push_back(fmt::format("nodes={}", wanted->nodes));
  }
  changes.push_back({std::move(name), std::move(settings), {}, {}});
}

// Levers of the only job, where it does not fit.
void add_levers(const experiment::Experiment& experiment, std::vector<Variant>& changes) {
  const auto& training = experiment.jobs.front().workload.training;
  if (experiment.jobs.size() > 1 || !training) return;
  const std::int64_t devices = experiment.fabric.device_count();
  const auto& dimensions = experiment.fabric.dimensions();
  for (const experiment::Lever& lever : experiment::memory_levers())
    for (const experiment::LeverEdit& edit :
         lever.edits({*training, dimensions.empty() ? devices : dimensions.front().size})) {
      std::vector<std::string> settings;
      for (const std::string& setting : edit) settings.push_back("workload." + setting);
      const auto is_known = [&](const Variant& other) { return other.settings == settings; };
      if (std::ranges::none_of(changes, is_known))
        changes.push_back({fmt::format("{}", fmt::join(edit, ", ")), settings, {}, {}});
    }
}

// Adds the error of ratios, where published runs are like the experiment.
void add_ratio_error(const std::string& file, const experiment::Experiment& experiment, const ConfigFiles& files,
                     Explanation& explanation) {
  const std::optional<RunKind> kind = job_kind(experiment);
  if (!kind) return;
  const std::vector<MeasuredError> errors = shipped_errors(training_runs(), files);
  if (errors.empty()) return;
  explanation.by_hand = key_by_hand(experiment, files, experiment::load_recorded_run(file, files));
  if (explanation.by_hand.empty()) explanation.ratio = ratio_error(*kind, errors);
}

// Says why the variant takes as long as the experiment.
void add_reason(const experiment::Experiment& base, const Point& base_point, const experiment::Experiment& other,
                const Point& point, Variant& variant) {
  EqualPair pair{base, other, {}, OperationTimes::kUnknown, 0, false};
  for (const Point* one : {&base_point, &point}) pair.take(one->figures->links, one->figures->parts);
  if (base_point.figures->ranks == point.figures->ranks) pair.ranks = static_cast<std::uint32_t>(point.figures->ranks);
  for (const NoDifference& one : why_no_difference(pair))
    variant.no_difference += (variant.no_difference.empty() ? "" : "; ") + short_text(one);
}

// Order of variants: simulated ones first, of these those that fit, fastest first; among equals, those with fewer
// settings.
auto rank_of(const Variant& variant) {
  return std::tuple(!variant.ran(), !variant.fits(), variant.time, variant.settings.size());
}

}  // namespace

std::optional<double> ExplainedResource::sensitivity(Duration time) const {
  if (!slightly.ran() || slightly.time <= Duration::zero() || time <= Duration::zero()) return std::nullopt;
  const double change = std::log(seconds(slightly.time) / seconds(time)) / std::log(1.1);
  return change == 0 ? 0 : change;  // no negative zero
}

Explanation explain(const ExplainRequest& request, Points& points, const ConfigFiles& files) {
  // 1. The experiment and its variants. Simulations may be long: what is refused without one is refused first.
  const auto load = [&](const Variant& variant, Diagnostics& diagnostics) {
    std::vector<std::string> settings = request.settings;
    settings.insert(settings.end(), variant.settings.begin(), variant.settings.end());
    return experiment::load_experiment(request.file, settings, files, diagnostics);
  };
  experiment::check_experiment({request.file, request.settings, true, request.allow_oom}, files);
  Explanation explanation;
  explanation.base.name = "as it is";
  Diagnostics diagnostics;
  const experiment::Experiment experiment = load(explanation.base, diagnostics);
  explanation.resources = resources_in(experiment.resolved);
  explanation.changes = changes_in(experiment);
  add_placement(experiment, explanation.changes);
  if (request.allow_oom && !experiment::check_memory(experiment, true, diagnostics))
    add_levers(experiment, explanation.changes);
  std::vector<Variant*> variants = {&explanation.base};
  for (ExplainedResource& resource : explanation.resources)
    variants.insert(variants.end(), {&resource.slightly, &resource.twice});
  for (Variant& change : explanation.changes) variants.push_back(&change);
  // 2. Simulations.
  std::vector<Point> found(variants.size());
  points.take_all("variants", variants.size(), [&](std::size_t i, Points::Ask& ask) {
    if (!variants[i]->ran()) return;
    const auto read = [&](Diagnostics& of_variant) { return load(*variants[i], of_variant); };
    evaluate(ask, {"explain", request.file, read, request.allow_oom}, found[i]);
  });
  // 3. What they say.
  take_base(found.front(), explanation);
  for (std::size_t i = 1; i < variants.size(); ++i)
    if (variants[i]->ran()) take_point(found[i], *variants[i]);
  for (Variant& change : explanation.changes)
    if (const auto at = static_cast<std::size_t>(std::ranges::find(variants, &change) - variants.begin());
        change.ran() && change.time == explanation.base.time)
      add_reason(experiment, found.front(), load(change, diagnostics), found[at], change);
  std::ranges::stable_sort(explanation.resources, {},
                           [](const ExplainedResource& resource) { return rank_of(resource.twice); });
  std::ranges::stable_sort(explanation.changes, {}, rank_of);
  add_ratio_error(request.file, experiment, files, explanation);
  return explanation;
}

}  // namespace orrery::study
