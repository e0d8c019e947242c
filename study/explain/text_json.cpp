// SPDX-License-Identifier: MIT
// Explanations as documents.
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "study/explain/explain.h"

namespace orrery::study {
namespace {

nlohmann::ordered_json variant_json(const Variant& variant, const Variant& base) {
  nlohmann::ordered_json json = {{"settings", variant.settings}};
  if (!variant.refusal.empty()) json["refused"] = variant.refusal;
  if (variant.at_least > Duration::zero()) json["at_least_s"] = seconds(variant.at_least);
  if (!variant.ran()) return json;
  json["iteration_time_s"] = seconds(variant.time);
  json["speedup"] = variant.time > Duration::zero() ? seconds(base.time) / seconds(variant.time) : 1;
  if (!variant.fits())
    json["too_little_memory"] = {{"need_bytes", variant.need.count()}, {"capacity_bytes", variant.capacity.count()}};
  if (variant.bubble) json["bubble_share"] = *variant.bubble;
  if (!variant.no_difference.empty()) json["no_difference"] = variant.no_difference;
  json["saved_s"] = seconds(base.time) - seconds(variant.time);
  if (variant.run) json["run_s"] = variant.run->seconds;
  if (variant.run && variant.run->cost) json["cost"] = *variant.run->cost;
  return json;
}

}  // namespace

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
    nlohmann::ordered_json json = {{"name", change.name}, {"kind", change.kind}};
    json.update(variant_json(change, base));
    changes.push_back(std::move(json));
  }
  nlohmann::ordered_json document = {{"schema", "orrery.explain/1"},
                                     {"iteration_time_s", seconds(base.time)},
                                     {"bound", explanation.bound},
                                     {"computes_as_measured", explanation.computes_as_measured}};
  if (const auto& pipeline = explanation.pipeline) {
    nlohmann::ordered_json& json = document["pipeline"];
    json = {{"stages", pipeline->stages},
            {"virtual_stages", pipeline->virtual_stages},
            {"micro_batches", pipeline->micro_batches}};
    if (base.bubble) json["bubble_share"] = *base.bubble;
    if (pipeline->ideal_bubble) json["ideal_bubble_share"] = *pipeline->ideal_bubble;
  }
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
        maybe({kNumber, "bubble_share", "of a job with a pipeline: share of the time that ranks idle for it"}),
        maybe({kText, "no_difference", "why it takes as long, or nearly so"})},
       run,
       {maybe({kText, "refused", "why it could not be simulated"}),
        maybe({kNumber, "at_least_s", "lower bound of its time, where it can be no faster and was not simulated"})}});
  return {
      "orrery.explain/1", "`explain --json`", "",
      report::joined(
          {{{kNumber, "iteration_time_s", "of the experiment"},
            {kText, "bound", "largest part of the critical path and its share; bubbles, if they are large"},
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
            maybe({kMap,
                   "pipeline",
                   "of a job with one",
                   {{kWhole, "stages", ""},
                    {kWhole, "virtual_stages", ""},
                    {kWhole, "micro_batches", ""},
                    maybe({kNumber, "bubble_share", "of the ranks' time"}),
                    maybe({kNumber, "ideal_bubble_share",
                           "(p - 1) / (v m + p - 1) of p stages, v virtual stages and m micro-batches"})}}),
            {kList, "changes",
             "other plans, the fastest that fits first; then those that can be no faster, and the rest",
             report::joined({{{kText, "name", ""}, {kText, "kind", "what it changes"}}, variant})},
            maybe({kMap, "ratio_error", "by which times of two plans may be off", ratio_error_keys()}),
            maybe({kText, "by_hand", "key that no published run has so, for which there is no such error"})}})};
}

}  // namespace orrery::study
