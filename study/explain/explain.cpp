// SPDX-License-Identifier: MIT
#include "study/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <span>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "core/config/number_text.h"
#include "core/config/quantity_text.h"
#include "experiment/job.h"
#include "experiment/plans/bound.h"
#include "experiment/plans/levers.h"
#include "experiment/recorded_run.h"
#include "experiment/runs/run.h"
#include "report/figures.h"
#include "study/compare/no_difference.h"
#include "study/explain/neighbours.h"
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
  variant.run = report::whole_training(values);
  variant.bubble = report::number_of(values, "bubble_share");
}

void take_base(const Point& base, Explanation& explanation) {
  throw_unless_ran(base);
  take_point(base, explanation.base);
  const PointFigures& figures = *base.figures;
  explanation.job = figures.job;
  explanation.devices = fmt::format("{} on {} {}", counted(figures.ranks, "rank"), counted(figures.devices, "device"),
                                    printable(figures.device));
  explanation.bound = report::bound_text(figures.values);
  explanation.computes_as_measured = figures.computes_as_measured;
  explanation.warnings = base.warnings;
}

std::vector<ExplainedResource> resources_in(const ConfigValue& resolved) {
  std::vector<ExplainedResource> explained;
  for (Resource& resource : resources_of(resolved)) {
    const auto variant = [&](Better better) {
      return Variant{fmt::format("{} x{}", resource.name, factor_of(better)), settings_of(resource, better)};
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
    changes.push_back({"no perturbation", {"perturb={}"}, "perturbation"});
  const auto& training = experiment.jobs.front().workload.training;
  const bool is_only = experiment.jobs.size() == 1 && training;
  for (Neighbour& plan : neighbours_of(resolved, is_only ? &*training : nullptr)) {
    changes.push_back({std::move(plan.name), std::move(plan.settings), std::move(plan.kind), plan.has_bound});
    changes.back().refusal = std::move(plan.refusal);
  }
  return changes;
}

// Other placements of a job whose groups do not fill nodes evenly.
void add_placement(const experiment::Experiment& experiment, std::vector<Variant>& changes) {
  const std::optional<experiment::Packing> wanted = experiment::packing_wanted(experiment);
  if (!wanted) return;
  if (experiment::packing_of(experiment)) {
    changes.push_back({"placement dense", {"placement=dense"}, "placement"});
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
  changes.push_back({std::move(name), std::move(settings), "placement"});
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
        changes.push_back({fmt::format("{}", fmt::join(edit, ", ")), settings, "memory"});
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

// An experiment and a variant of it that takes as long, or nearly so.
EqualPair pair_of(const experiment::Experiment& base, const Point& base_point, const experiment::Experiment& other,
                  const Point& point) {
  EqualPair pair{base, other, {}, OperationTimes::kUnknown, 0, false};
  for (const Point* one : {&base_point, &point}) pair.take(one->figures->links, one->figures->parts);
  pair.computes_as_measured = base_point.figures->computes_as_measured;
  return pair;
}

// Says why the variant takes as long as the experiment.
void add_reason(const experiment::Experiment& base, const Point& base_point, const experiment::Experiment& other,
                const Point& point, Variant& variant) {
  EqualPair pair = pair_of(base, base_point, other, point);
  if (base_point.figures->ranks == point.figures->ranks) pair.ranks = static_cast<std::uint32_t>(point.figures->ranks);
  for (const NoDifference& one : why_no_difference(pair))
    variant.no_difference += (variant.no_difference.empty() ? "" : "; ") + short_text(one);
}

// True if the reasons why a variant takes as long may depend on where its time went, which its point does not say.
bool asks_for_parts(const experiment::Experiment& base, const Point& base_point, const experiment::Experiment& other,
                    const Point& point) {
  if (!point.figures->parts.empty()) return false;
  const EqualPair pair = pair_of(base, base_point, other, point);
  return !pair.waits_for_hosts && changes_host(pair);
}

// Says why twice the resource saves next to nothing, and of which others it would have to be bought with. What these
// save together has been simulated where they are one resource.
void add_reason(const experiment::Experiment& base, const Point& base_point, const experiment::Experiment& twice,
                const Point& point, const std::vector<ExplainedResource>& resources, ExplainedResource& resource) {
  const EqualPair pair = pair_of(base, base_point, twice, point);
  const Duration time = base_point.figures->iteration_time;
  for (NoDifference& one : resource.twice.time == time ? why_no_difference(pair) : held_up(pair)) {
    if (!one.is_known) continue;
    std::vector<std::string> keys = resource.resource.keys;
    for (const std::string& setting : one.with) keys.push_back(path_of_setting(setting));
    const auto has_all = [&](const ExplainedResource& other) {
      return std::ranges::all_of(keys, [&](const std::string& key) {
        return std::ranges::find(other.resource.keys, key) != other.resource.keys.end();
      });
    };
    const auto both = std::ranges::find_if(resources, has_all);
    if (!one.with.empty() && both != resources.end() && both->twice.ran())
      one.remedy = fmt::format("{} save {}", both->twice.name, percent(1 - seconds(both->twice.time) / seconds(time)));
    one.with.clear();
    resource.twice.no_difference += (resource.twice.no_difference.empty() ? "" : "; ") + short_text(one);
    resource.is_held_up = resource.is_held_up || !one.cap.empty();
  }
}

// Order of variants: simulated ones first, of these those that fit, fastest first; among equals, those with fewer
// settings. Then those that can be no faster, and those that cannot be.
auto rank_of(const Variant& variant) {
  return std::tuple(!variant.ran(), !variant.fits(), !variant.refusal.empty(), variant.time + variant.at_least,
                    variant.settings.size());
}

// Lower bounds and memory of plans beside that of an experiment, for several threads.
class NeighbourBounds {
 public:
  // `time`: from which on a plan need not be simulated. The experiment outlives this.
  NeighbourBounds(const experiment::Experiment& base, Duration time, bool allow_oom) : time_(time) {
    if (base.jobs.size() > 1 || !base.jobs.front().workload.training) return;
    if (base.devices.size() == 1 && !allow_oom) capacity_ = base.devices.front().memory_capacity;
    try {
      bounds_.emplace(base);
    } catch (const InputError&) {  // of a placement that the simulation refuses, too
    }
  }

  // Says of a plan that does not fit by how much, and of one that can be no faster for how long it takes at least.
  void judge(const experiment::Experiment& experiment, Variant& variant) {
    if (!bounds_ || !variant.has_bound) return;
    const auto& training = experiment.jobs.front().workload.training;
    if (training->parallel.ranks() > experiment.fabric.device_count()) return;  // which is an error
    experiment::PlanBounds::Bound bound;
    try {
      const std::lock_guard lock(mutex_);
      bound = bounds_->of(*training, capacity_);
    } catch (const InputError&) {  // of a library that cannot run the collectives
      return;
    }
    if (bound.memory > capacity_)
      variant.refusal =
          fmt::format("out of memory: needs {}, {} too much", rounded(bound.memory), rounded(bound.memory - capacity_));
    else if (bound.time >= time_)
      variant.at_least = bound.time;
  }

 private:
  const Duration time_;
  Bytes capacity_ = Bytes::max();
  std::mutex mutex_;
  std::optional<experiment::PlanBounds> bounds_;
};

// Variants of one experiment, simulated.
class Variants {
 public:
  Variants(const ExplainRequest& request, Points& points, const ConfigFiles& files)
      : request_(request), points_(points), files_(files) {}

  // The experiment as it is, with all figures.
  void take_base(Variant& variant, Points::Ask& ask, Point& found) const {
    const auto read = [&](Diagnostics& diagnostics) { return load(variant, diagnostics); };
    if (evaluate(ask, {"explain", request_.file, read, request_.allow_oom}, found)) take_point(found, variant);
  }

  experiment::Experiment load(const Variant& variant, Diagnostics& diagnostics) const {
    std::vector<std::string> settings = request_.settings;
    settings.insert(settings.end(), variant.settings.begin(), variant.settings.end());
    return experiment::load_experiment(request_.file, settings, files_, diagnostics);
  }

  // Facts that variants are compared with.
  struct Base {
    const experiment::Experiment& experiment;
    const Point& point;
    const Explanation& explanation;
  };

  // Work on a variant, which is left alone if it is refused, or if `bounds` are there and say that it need not be
  // simulated. Only what the explanation tells of it is worked out; `tells_why`: also why it takes as long as the base.
  void take(Variant& variant, Points::Ask& ask, const Base& base, NeighbourBounds* bounds, bool tells_why,
            Point& found) const {
    if (!variant.ran()) return;
    const auto read = [&](Diagnostics& diagnostics) {
      experiment::Experiment experiment = load(variant, diagnostics);
      if (bounds != nullptr) bounds->judge(experiment, variant);
      if (!variant.ran()) throw InputError(Location{}, variant.refusal, "");
      return experiment;
    };
    PointQuestion question{"explain", request_.file, read, request_.allow_oom, experiment::RunFigures::none()};
    question.figures.passes = request_.has_document || ask.is_kept() || compares_bubbles(variant, base.explanation);
    question.again = [&](const Point& point) -> std::optional<experiment::RunFigures> {
      if (!tells_why || point.figures->iteration_time != base.explanation.base.time) return std::nullopt;
      Diagnostics repeated;
      if (!asks_for_parts(base.experiment, base.point, load(variant, repeated), point)) return std::nullopt;
      return experiment::RunFigures{.parts = true, .path = false, .passes = question.figures.passes};
    };
    if (evaluate(ask, question, found) && variant.ran()) take_point(found, variant);
  }

  Points& points() const { return points_; }

 private:
  const ExplainRequest& request_;
  Points& points_;
  const ConfigFiles& files_;
};

// Part of a setting before its value: "workload.batch.micro".
std::string_view key_of(std::string_view setting) { return setting.substr(0, setting.find_first_of("*=")); }

bool share_a_key(const Variant& one, const Variant& other) {
  return std::ranges::any_of(one.settings, [&](const std::string& setting) {
    return std::ranges::any_of(other.settings,
                               [&](const std::string& more) { return key_of(setting) == key_of(more); });
  });
}

// The three best changes two by two, as far as they change different things. `changes` are in order.
std::vector<Variant> pairs_of(std::span<const Variant> changes, Duration time) {
  constexpr std::size_t kMost = 3;
  std::vector<const Variant*> best;
  for (const Variant& change : changes) {
    const bool helps = change.ran() && change.fits() && change.time < time && change.kind != "perturbation";
    const bool is_new = std::ranges::find(best, change.kind, &Variant::kind) == best.end();
    if (helps && is_new && best.size() < kMost) best.push_back(&change);
  }
  std::vector<Variant> pairs;
  for (std::size_t one = 0; one < best.size(); ++one)
    for (std::size_t other = one + 1; other < best.size(); ++other) {
      if (share_a_key(*best[one], *best[other])) continue;
      Variant& pair = pairs.emplace_back(*best[one]);
      pair.name = fmt::format("{} + {}", best[one]->name, best[other]->name);
      pair.kind = "together";
      pair.settings.insert(pair.settings.end(), best[other]->settings.begin(), best[other]->settings.end());
    }
  return pairs;
}

// Simulates resources and changes, and says why those that change nothing do not.
void simulate(const Variants& variants, const experiment::Experiment& experiment, bool allow_oom, const Point& base,
              Explanation& explanation) {
  // A job that does not fit asks for one that does, be it slower.
  const Duration time = explanation.base.fits() ? explanation.base.time : Duration::max();
  const Variants::Base compared{experiment, base, explanation};
  NeighbourBounds bounds(experiment, time, allow_oom);
  std::vector<Variant*> all;
  for (ExplainedResource& resource : explanation.resources)
    all.insert(all.end(), {&resource.slightly, &resource.twice});
  for (Variant& change : explanation.changes) all.push_back(&change);
  std::vector<Point> found(all.size());
  const auto is_slight = [&](std::size_t i) { return i < 2 * explanation.resources.size() && i % 2 == 0; };
  variants.points().take_all("variants", all.size(), [&](std::size_t i, Points::Ask& ask) {
    variants.take(*all[i], ask, compared, &bounds, !is_slight(i), found[i]);
  });
  Diagnostics repeated;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i]->ran() && !all[i]->kind.empty() && all[i]->time == explanation.base.time)
      add_reason(experiment, base, variants.load(*all[i], repeated), found[i], *all[i]);
  for (std::size_t i = 0; i < explanation.resources.size(); ++i) {
    ExplainedResource& resource = explanation.resources[i];
    if (saves_nothing(resource.twice, explanation.base.time))
      add_reason(experiment, base, variants.load(resource.twice, repeated), found[2 * i + 1], explanation.resources,
                 resource);
  }
}

// Simulates pairs of changes, and puts them in their order.
void add_pairs(const Variants& variants, const Variants::Base& base, Explanation& explanation) {
  std::vector<Variant> pairs = pairs_of(explanation.changes, explanation.base.time);
  if (pairs.empty()) return;
  std::vector<Point> found(pairs.size());
  variants.points().take_last("pairs of changes", pairs.size(), [&](std::size_t i, Points::Ask& ask) {
    variants.take(pairs[i], ask, base, nullptr, false, found[i]);
  });
  explanation.changes.insert(explanation.changes.end(), pairs.begin(), pairs.end());
  std::ranges::stable_sort(explanation.changes, {}, rank_of);
}

}  // namespace

bool saves_nothing(const Variant& variant, Duration time) {
  return variant.ran() && time > Duration::zero() && std::abs(1 - seconds(variant.time) / seconds(time)) < kLeastSaving;
}

std::optional<double> ExplainedResource::sensitivity(Duration time) const {
  if (!slightly.ran() || slightly.time <= Duration::zero() || time <= Duration::zero()) return std::nullopt;
  const double change = std::log(seconds(slightly.time) / seconds(time)) / std::log(1.1);
  return change == 0 ? 0 : change;  // no negative zero
}

Explanation explain(const ExplainRequest& request, Points& points, const ConfigFiles& files) {
  // 1. The experiment and its variants. Simulations may be long: what is refused without one is refused first.
  experiment::check_experiment({request.file, request.settings, true, request.allow_oom}, files);
  const Variants variants(request, points, files);
  Explanation explanation;
  explanation.base.name = "as it is";
  Diagnostics diagnostics;
  const experiment::Experiment experiment = variants.load(explanation.base, diagnostics);
  const auto& training = experiment.jobs.front().workload.training;
  if (experiment.jobs.size() == 1 && training) explanation.pipeline = pipeline_of(*training);
  explanation.resources = resources_in(experiment.resolved);
  explanation.changes = changes_in(experiment);
  add_placement(experiment, explanation.changes);
  if (request.allow_oom && !experiment::check_memory(experiment, true, diagnostics))
    add_levers(experiment, explanation.changes);
  // 2. Simulations: of the experiment, of what can be faster, of pairs.
  Point base;
  const auto take_itself = [&](std::size_t, Points::Ask& ask) { variants.take_base(explanation.base, ask, base); };
  if (!points.take_first("variants", 1, take_itself)) throw PointsMissing();
  take_base(base, explanation);
  simulate(variants, experiment, request.allow_oom, base, explanation);
  // 3. What they say.
  std::ranges::stable_sort(explanation.resources, {},
                           [](const ExplainedResource& resource) { return rank_of(resource.twice); });
  std::ranges::stable_sort(explanation.changes, {}, rank_of);
  add_pairs(variants, {experiment, base, explanation}, explanation);
  add_ratio_error(request.file, experiment, files, explanation);
  return explanation;
}

}  // namespace orrery::study
