// SPDX-License-Identifier: MIT
// Explanation of what would make a job faster: the experiment is simulated again with each resource of its cluster
// improved, without its perturbation, and with the plans beside its own. Nothing is concluded from the one simulation;
// every figure is that of an experiment that settings (a.b=v) make of this one, and `run --set` gives the same to the
// picosecond.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/units.h"
#include "report/documents/documents.h"
#include "report/result.h"
#include "study/explain/resources.h"
#include "study/interval/ratio.h"
#include "study/points/points.h"

namespace orrery::study {

// The experiment with some settings.
struct Variant {
  std::string name;
  std::vector<std::string> settings;
  Duration time{};                         // of an iteration, if it was simulated
  std::optional<report::TrainingRun> run;  // of a job with `workload.tokens`
  std::string refusal = {};                // why it was not, in a phrase
  Bytes need{}, capacity{};                // memory of the fullest rank and its device, where that is too little
  std::string no_difference = {};          // why it takes as long as the experiment, if it does

  bool fits() const { return need <= capacity; }
  bool ran() const { return refusal.empty(); }
};

struct ExplainedResource {
  Resource resource;
  Variant slightly;  // 1.1 times as good
  Variant twice;

  // d ln t / d ln r, from 1.1 times as much: -0.4 where 1 % more of it saves 0.4 %. Nothing where it was not simulated.
  std::optional<double> sensitivity(Duration time) const;
};

struct Explanation {
  Variant base;                              // without settings
  std::string job;                           // "llama2-13b of 13.0 B parameters, ..."; empty of traces
  std::string devices;                       // "32 ranks on 32 devices a800-sxm-80gb"
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
};

// Throws InputError and StuckError where the experiment itself cannot be simulated; a variant that cannot says why.
// PointsMissing where not all variants have been simulated.
Explanation explain(const ExplainRequest& request, Points& points, const ConfigFiles& files);

// Text of an explanation, on one screen.
std::string explanation_text(const Explanation& explanation);
// The document "orrery.explain/1".
nlohmann::ordered_json explanation_json(const Explanation& explanation);
report::Document explanation_document();

}  // namespace orrery::study
