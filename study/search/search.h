// SPDX-License-Identifier: MIT
// The best plans of a training job on a cluster. All plans that fill it are checked against the devices' memory and get
// a time that they cannot beat (experiment/plans/bound.h). The plan of the experiment is simulated first, within a
// budget some that are next to it, then the most promising, until none that is left can be among the best; a plan whose
// turn has come first gets a bound that is higher and costs more. What comes out is the optimum of the space, and does
// not depend on how many are simulated at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/config/tree.h"
#include "core/error.h"
#include "core/units.h"
#include "report/documents/documents.h"
#include "report/figures.h"
#include "report/parts.h"
#include "report/plot/picture.h"
#include "report/result.h"
#include "study/constraint.h"
#include "study/interval/ratio.h"
#include "study/points/points.h"
#include "study/search/plan.h"

namespace orrery::study {

struct SearchRequest {
  std::string file;                   // an experiment whose job trains a model, or a result
  std::vector<std::string> settings;  // a.b=v, of all plans
  PlanRanges ranges{};
  std::vector<Constraint> where{};      // of plans, by the keys' names
  double most_memory = 1;               // part of a device's memory that a plan may need
  std::size_t best = 10;                // how many of the best are asked for, at least 1
  bool simulates_all = false;           // though they cannot be among the best
  bool ranks_given = false;             // all that may be faster than the experiment's own plan are simulated, too
  std::optional<std::size_t> budget{};  // simulations at most, at least 1, beside that of the experiment's own plan
};

// A plan that fits.
struct FoundPlan {
  Plan plan;
  Bytes memory;                     // of the fullest rank
  Bytes in_use;                     // with libraries and what the allocator cannot use
  Duration bound{};                 // of an iteration, at least
  bool is_refined = false;          // the bound, which is as high as we know it
  std::optional<Duration> time;     // if it was simulated
  report::FigureValues values;      // likewise
  std::vector<report::Part> parts;  // likewise, of an iteration, mean over ranks
  std::string refusal;              // why it could not be, in a phrase
};

// Figures of plans that tables have.
std::vector<const report::Figure*> plan_columns();

// Infeasible plans, for one reason.
struct RefusedPlans {
  std::size_t count = 0;
  std::string reason;  // of the first
  Plan first;
};

struct Search {
  std::string job;      // "llama2-13b of 13.0 B parameters, megatron-2022, bf16, global batch 64"
  std::string devices;  // "512 devices h100-sxm"
  std::int64_t device_count = 0;
  bool is_complete = true;                // else it was stopped, and `found` has the best so far
  bool knows_all = true;                  // else it was stopped before all plans were checked
  bool spent_budget = false;              // though plans are left that may be among the best
  std::size_t plans = 0;                  // that fill the cluster
  bool packed = false;                    // some of them leave devices of each node idle
  std::vector<RefusedPlans> refused;      // the most first
  std::size_t too_large = 0;              // of those that are left: beyond the memory
  std::optional<FoundPlan> least_memory;  // of these
  Bytes capacity;                         // what a plan may need
  std::vector<FoundPlan> found;           // that fit: the fastest first, then those not simulated by their bounds
  std::size_t simulated = 0;
  bool bounds_hold = true;  // else all were simulated
  Bytes device_memory;
  std::size_t asked = 0;                           // how many of the best
  std::optional<FoundPlan> given;                  // the plan of the experiment, if it fills the cluster
  std::optional<std::string> given_refusal;        // why it does not
  std::optional<report::TimeInterval> interval;    // where a measured time of the best would lie
  std::optional<RatioError> ratio;                 // how well times of plans are told apart
  std::vector<std::vector<std::string>> settings;  // of the best, as `run --set` takes them
  std::vector<Problem> warnings;

  // Rank of a simulated plan, from 1: more by one than the number of those that are faster by more than `ratio` is off.
  std::size_t rank_of(std::size_t plan) const;
  // Number of plans at the head of `found` that are proven to be the best.
  std::size_t proven() const;
  // Number of fitting plans that are faster than the experiment's own: those simulated, and those that may be faster by
  // their bounds.
  std::pair<std::size_t, std::size_t> faster_than_given() const;
  // Least bound of the plans that were not simulated, zero if it is not known; empty if all were.
  std::optional<Duration> next_bound() const;
};

// Throws InputError: of the experiment, and where no plan fits; PointsMissing where other parts have plans that matter.
// A search that is stopped says what it knows: the best so far, if any plan was simulated.
Search search_plans(const SearchRequest& request, Points& points, const ConfigFiles& files);

// "tensor 8, pipeline 4, data 16": what is not as in a plan of one rank.
std::string text_of(const Plan& plan);

std::string search_text(const Search& search);
// Time against memory of simulated plans; nothing without one.
std::optional<report::Picture> search_picture(const Search& search);
// The document "orrery.search/1".
nlohmann::ordered_json search_json(const Search& search);
report::Document search_document();

}  // namespace orrery::study
