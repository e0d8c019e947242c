// SPDX-License-Identifier: MIT
#include "study/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/in_parallel.h"
#include "experiment/run.h"

namespace orrery::study {
namespace {

// The first thing that is wrong, without its particulars.
std::string phrase_of(const InputError& error) {
  const Problem& first = error.problems().front();
  if (!first.out_of_memory) return printable(first.message, 400);
  // "needs 107.7 GiB" of "rank 0 needs 107.7 GiB of memory, its device has ..."
  const std::size_t needs = std::min(first.message.find("needs"), first.message.size());
  return "out of memory: " + printable(first.message.substr(needs, first.message.find(" of memory") - needs));
}

experiment::RunRequest request_of(const ExplainRequest& request, const std::vector<std::string>& more) {
  experiment::RunRequest run{request.file, request.settings, true, request.allow_oom};
  run.settings.insert(run.settings.end(), more.begin(), more.end());
  return run;
}

void take_figures(const report::Result& result, Variant& variant) {
  variant.time = report::iteration_time(result);
  if (result.training) variant.run = result.training->run;
}

void simulate(const ExplainRequest& request, const ConfigFiles& files, Variant& variant) {
  if (!variant.ran()) return;
  try {
    take_figures(experiment::run_experiment(request_of(request, variant.settings), files).result, variant);
  } catch (const InputError& error) {
    variant.refusal = phrase_of(error);
  } catch (const StuckError&) {
    variant.refusal = "the job cannot finish";
  }
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

std::vector<Variant> changes_in(const ConfigValue& resolved) {
  std::vector<Variant> changes;
  const ConfigEntry* perturb = resolved.find("perturb");
  if (perturb != nullptr && !perturb->value.entries.empty())
    changes.push_back({"no perturbation", {"perturb={}"}, {}, {}});
  for (Neighbour& plan : neighbours_of(resolved))
    changes.push_back({std::move(plan.name), std::move(plan.settings), {}, {}, std::move(plan.refusal)});
  return changes;
}

// What was simulated first, and of that the fastest; of equals those that need fewer settings.
auto rank_of(const Variant& variant) { return std::tuple(!variant.ran(), variant.time, variant.settings.size()); }

}  // namespace

std::optional<double> ExplainedResource::sensitivity(Duration time) const {
  if (!slightly.ran() || slightly.time <= Duration::zero() || time <= Duration::zero()) return std::nullopt;
  const double change = std::log(seconds(slightly.time) / seconds(time)) / std::log(1.1);
  return change == 0 ? 0 : change;  // no negative zero
}

Explanation explain(const ExplainRequest& request, const ConfigFiles& files, const ExplainProgress& progress) {
  Explanation explanation;
  {
    const report::Result base = experiment::run_experiment(request_of(request, {}), files).result;
    explanation.base.name = "as it is";
    take_figures(base, explanation.base);
    if (base.training) explanation.job = base.training->job;
    if (base.call) explanation.job = fmt::format("{} of {}", base.call->operation, rounded(base.call->size));
    explanation.devices = fmt::format("{} on {} {}", counted(base.class_of_rank.size(), "rank"),
                                      counted(base.devices, "device"), printable(base.device));
    explanation.computes_as_measured = base.computes_as_measured;
    explanation.resources = resources_in(base.experiment);
    explanation.changes = changes_in(base.experiment);
    explanation.warnings = base.warnings;
  }
  std::vector<Variant*> variants;
  for (ExplainedResource& resource : explanation.resources) {
    variants.push_back(&resource.slightly);
    variants.push_back(&resource.twice);
  }
  for (Variant& change : explanation.changes) variants.push_back(&change);
  in_parallel(
      variants.size(), request.jobs, [&](std::size_t i) { simulate(request, files, *variants[i]); }, progress);
  std::ranges::stable_sort(explanation.resources, {},
                           [](const ExplainedResource& resource) { return rank_of(resource.twice); });
  std::ranges::stable_sort(explanation.changes, {}, rank_of);
  return explanation;
}

}  // namespace orrery::study
