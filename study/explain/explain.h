// SPDX-License-Identifier: MIT
// Explanation of what would make a job faster: the experiment is simulated again with each resource of its cluster
// improved, without its perturbation, with the plans beside its own, and with the best of these in pairs. Nothing is
// concluded from the one simulation; every figure is that of an experiment that settings (a.b=v) make of this one, and
// `run --set` gives the same to the picosecond. Plans that can be no faster by a lower bound are not simulated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/units.h"
#include "report/documents/documents.h"
#include "report/plot/picture.h"
#include "report/result.h"
#include "study/compare/no_difference.h"
#include "study/explain/resources.h"
#include "study/interval/ratio.h"
#include "study/points/points.h"
#include "workload/training/spec/training_spec.h"

namespace orrery::study {

// The experiment with some settings.
struct Variant {
  std::string name;
  std::vector<std::string> settings;
  std::string kind = {};                        // of changes: what they change, "schedule"
  bool has_bound = false;                       // lower bounds of plans hold for it
  Duration time{};                              // of an iteration, if it was simulated
  Duration at_least{};                          // lower bound of it, where it was not for that
  std::optional<report::TrainingRun> run = {};  // of a job with `workload.tokens`
  std::optional<double> bubble = {};            // share of the ranks' time that they idle for the pipeline
  std::string refusal = {};                     // why it could not be, in a phrase
  Bytes need{}, capacity{};                     // memory of the fullest rank and its device, where that is too little
  std::string no_difference = {};               // why it takes as long as the experiment, or nearly so, if it does

  bool fits() const { return need <= capacity; }
  bool ran() const { return refusal.empty() && at_least == Duration::zero(); }
};

struct ExplainedResource {
  Resource resource;
  Variant slightly;  // 1.1 times as good
  Variant twice;
  bool is_held_up = false;  // others on the routes of its links bring less than twice of it carries

  // d ln t / d ln r, from 1.1 times as much: -0.4 where 1 % more of it saves 0.4 %. Nothing where it was not simulated.
  std::optional<double> sensitivity(Duration time) const;
};

// True of a variant that was simulated and takes as long as `time`, but for less than that share.
bool saves_nothing(const Variant& variant, Duration time);

// The pipeline of a job.
struct ExplainedPipeline {
  std::int64_t stages = 1;
  std::int64_t virtual_stages = 1;
  std::int64_t micro_batches = 1;
  // Share that ranks idle if all passes take as long on all stages and nothing else takes time: (p - 1) / (v m + p - 1)
  // of p stages, v virtual stages and m micro-batches, of GPipe and 1F1B. Nothing of other schedules.
  std::optional<double> ideal_bubble;
};
// Nothing of a job without stages.
std::optional<ExplainedPipeline> pipeline_of(const workload::TrainingSpec& training);

struct Explanation {
  Variant base;         // without settings
  std::string job;      // "llama2-13b of 13.0 B parameters, ..."; empty of traces
  std::string devices;  // "32 ranks on 32 devices a800-sxm-80gb"
  std::string bound;    // "compute 93 %, bubble 31 %"
  std::optional<ExplainedPipeline> pipeline = {};
  bool computes_as_measured = false;         // traces' durations, which no device changes
  std::vector<ExplainedResource> resources;  // what saves most when it is doubled first
  std::vector<Variant> changes;              // without perturbation, and other plans; the fastest that fits first
  std::optional<RatioError> ratio;           // how well times of plans are told apart, where published runs tell
  std::string by_hand = {};                  // a key for which they do not, as no published run has it so
  std::vector<Problem> warnings;
};

struct ExplainRequest {
  std::string file;                   // an experiment, or a result
  std::vector<std::string> settings;  // a.b=v, of all variants
  bool allow_oom = false;
  bool has_document = true;  // explanation_json() is asked for, not the text alone
};

// Throws InputError and StuckError where the experiment itself cannot be simulated; a variant that cannot says why.
// PointsMissing where not all variants have been simulated.
Explanation explain(const ExplainRequest& request, Points& points, const ConfigFiles& files);

// Lines on the bubbles of the pipeline: how large they are, how large they must be, and what makes them smaller. Empty
// where they are small.
std::string pipeline_text(const Explanation& explanation);
// True if pipeline_text() may compare the bubbles of the variant with those of the experiment.
bool compares_bubbles(const Variant& variant, const Explanation& explanation);
// Text of an explanation, on one screen.
std::string explanation_text(const Explanation& explanation);
// Bars of what the resources and other plans save.
report::Picture explanation_picture(const Explanation& explanation);
// The document "orrery.explain/1".
nlohmann::ordered_json explanation_json(const Explanation& explanation);
report::Document explanation_document();

}  // namespace orrery::study
