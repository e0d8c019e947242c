// SPDX-License-Identifier: MIT
#include "study/search/search.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/assert.h"
#include "core/config/quantity_text.h"
#include "core/files/input_files.h"
#include "core/in_parallel.h"
#include "core/whole_memory.h"
#include "experiment/job.h"
#include "experiment/plans/bound.h"
#include "study/interval/interval.h"
#include "study/interval/kinds.h"
#include "study/search/filling.h"
#include "study/search/pool.h"

namespace orrery::study {
namespace {

// Plans that a thread checks one after the other, with what it knows of the cluster.
constexpr std::size_t kChunk = 64;
// Plans that are simulated between two looks at whether to go on, once there are enough for the best: as many whatever
// the number of threads.
constexpr std::size_t kRound = 4;
// Plans next to that of the experiment that are simulated before the most promising ones where a budget may be spent
// before the best is found.
constexpr std::size_t kNeighbours = 8;

const workload::TrainingSpec& training_of(const experiment::Experiment& experiment) {
  return *experiment.jobs.front().workload.training;
}

void check_searchable(const experiment::Experiment& experiment, const std::string& file) {
  if (experiment.jobs.size() != 1 || !experiment.jobs.front().workload.training)
    throw InputError({file}, "is not one job that trains a model: there are no plans to search",
                     "give workload.model, with a cluster and a batch size");
  const workload::TrainingSpec& training = training_of(experiment);
  if (training.parallel.exchange == workload::ExchangeKind::kParameterServer)
    throw InputError(training.where_of("parallel.exchange"), "plans with parameter servers are not searched",
                     "workload.parallel.exchange: collective");
}

// "# layers do not divide among # stages": what differs from plan to plan left out.
std::string without_numbers(const std::string& text) {
  std::string kind;
  for (const char c : text)
    if (c < '0' || c > '9')
      kind += c;
    else if (kind.empty() || kind.back() != '#')
      kind += '#';
  return kind;
}

// Outcome of checking one plan.
struct Checked {
  std::string refusal;
  experiment::PlanBounds::Bound bound;
};

bool is_degree(PlanKey key) {
  return key == PlanKey::kTensor || key == PlanKey::kPipeline || key == PlanKey::kContext || key == PlanKey::kData;
}

// True if plans differ in one key, or move devices from one degree to another.
bool are_neighbours(const Plan& one, const Plan& other) {
  std::size_t degrees = 0, others = 0;
  for (std::size_t key = 0; key < kPlanKeyCount; ++key)
    if (one.values[key] != other.values[key]) ++(is_degree(static_cast<PlanKey>(key)) ? degrees : others);
  return (degrees == 2 && others == 0) || (degrees == 0 && others == 1);
}

class Searcher {
 public:
  Searcher(const SearchRequest& request, Points& points, const ConfigFiles& files)
      : request_(request), files_(files), points_(points), settings_(request.settings), experiments_([this] {
          Diagnostics diagnostics;
          return experiment::load_experiment(request_.file, settings_, files_, diagnostics);
        }) {
    base_ = load_base();
    check_searchable(*base_, request.file);
    const Bytes capacity = std::ranges::min(base_->devices, {}, &system::DeviceSpec::memory_capacity).memory_capacity;
    search_.capacity = Bytes(static_cast<std::int64_t>(static_cast<double>(capacity.count()) * request.most_memory));
    search_.device_memory = whole_memory(capacity);
    search_.asked = request.best;
    for (const Constraint& constraint : request.where) constraint.check(plan_key_names());
    const workload::TrainingSpec& training = training_of(*base_);
    search_.job = fmt::format("{}, {}, {}, global batch {}", experiment::model_text(training.model),
                              printable(training.software.name), name_of(training.precision), training.global_batch);
    search_.device_count = base_->fabric.device_count();
    search_.devices = fmt::format("{} devices {}", base_->fabric.device_count(), base_->devices_text());
  }

  Search take() && {
    simulate_given();
    sort_out();
    if (search_.knows_all) simulate();
    put_in_order();
    if (search_.simulated == 0 && search_.is_complete) refuse_all();
    for (std::size_t i = 0; i < std::min(search_.asked, search_.simulated); ++i)
      search_.settings.push_back(settings_from(search_.found[i].plan));
    if (const auto kind = job_kind(*base_); kind && search_.simulated > 0 && key_by_hand(*base_, files_).empty())
      if (const std::vector<MeasuredError> errors = shipped_errors(training_runs(), files_); !errors.empty()) {
        search_.interval = time_interval(interval_of(*kind, errors, training_runs()), *search_.found.front().time);
        search_.ratio = ratio_error(*kind, errors);
      }
    return std::move(search_);
  }

 private:
  // Without the plan of the experiment, where that cannot be on its cluster.
  std::unique_ptr<experiment::Experiment> load_base() {
    const auto load = [&](const std::vector<std::string>& settings) {
      Diagnostics problems;
      const NotedFiles named;
      auto base = std::make_unique<experiment::Experiment>(
          experiment::load_experiment(request_.file, settings, files_, problems));
      if (points_.is_kept()) key_ = key_of("search", *base, named.paths());
      search_.warnings.assign(problems.problems().begin(), problems.problems().end());
      return base;
    };
    try {
      return load(settings_);
    } catch (const InputError& error) {
      std::vector<std::string> settings = settings_;
      for (const std::string& setting : settings_of_one_rank()) settings.push_back(setting);
      try {
        std::unique_ptr<experiment::Experiment> base = load(settings);
        if (base->jobs.size() != 1 || !base->jobs.front().workload.training) throw error;
        search_.given_refusal = error.problems().front().message;
        settings_ = std::move(settings);
        dropped_ = settings_without_plan();
        return base;
      } catch (const InputError&) {
        throw error;  // it is not the plan
      }
    }
  }

  // Settings of the experiment as it is, as `run --set` takes them.
  std::vector<std::string> settings_from(const Plan& plan) const {
    std::vector<std::string> settings = dropped_;
    std::ranges::copy(settings_of(training_of(*base_), plan), std::back_inserter(settings));
    return settings;
  }

  std::string refusal_of(const workload::TrainingSpec& training) const {
    Diagnostics problems;
    workload::check_training(training, base_->fabric.device_count(), problems);
    for (const Problem& problem : problems.problems())
      if (problem.severity == Severity::kError) return problem.message;
    return {};
  }

  bool is_stopped() const { return points_.is_stopped(); }

  Checked check(const Plan& plan, experiment::PlanBounds& bounds) const {
    Checked checked;
    const workload::TrainingSpec training = with_plan(training_of(*base_), plan);
    checked.refusal = refusal_of(training);
    try {
      if (checked.refusal.empty()) checked.bound = bounds.of(training, search_.capacity);
      const std::optional<Bytes> of_host = bounds.host_capacity();
      if (of_host && checked.bound.host > *of_host)
        checked.refusal = "more is offloaded than the memory of hosts holds";
    } catch (const InputError& error) {  // of a library that cannot run its collectives
      checked.refusal = error.problems().front().message;
    }
    return checked;
  }

  // Checks the plans; those left when the search is stopped stay unchecked.
  std::vector<Checked> check(const std::vector<Plan>& plans) {
    std::vector<Checked> checked(plans.size());
    const std::size_t chunks = (plans.size() + kChunk - 1) / kChunk;
    in_parallel(
        chunks, points_.jobs(),
        [&](std::size_t chunk) {
          const std::size_t end = std::min(plans.size(), (chunk + 1) * kChunk);
          bounds_.with([&](experiment::PlanBounds& of_thread) {
            for (std::size_t i = chunk * kChunk; i < end && !is_stopped(); ++i) checked[i] = check(plans[i], of_thread);
          });
        },
        [&](std::uint64_t done, std::uint64_t total) { points_.progress("chunks of plans", done, total); });
    return checked;
  }

  bool is_wanted(const Plan& plan) const {
    for (std::size_t key = 0; key < kPlanKeyCount; ++key) {
      const std::vector<std::int64_t>& allowed = request_.ranges[key];
      if (!allowed.empty() && std::ranges::find(allowed, plan.values[key]) == allowed.end()) return false;
    }
    return meets_constraints(plan);
  }

  bool meets_constraints(const Plan& plan) const {
    const auto value_of = [&](std::string_view name) -> std::optional<NamedValue> {
      const std::optional<PlanKey> key = plan_key_named(name);
      return key ? std::optional(named_value(value_text(*key, plan[*key]))) : std::nullopt;
    };
    return std::ranges::all_of(request_.where, [&](const Constraint& one) { return one.holds(value_of); });
  }

  // Plan with its bound, and with the result of simulating the experiment's own plan if it is that one.
  FoundPlan found_plan(const Plan& plan, const experiment::PlanBounds::Bound& bound) const {
    if (search_.given && search_.given->plan == plan) return *search_.given;
    return {plan, bound.memory, bound.in_use, bound.time, false, {}, {}, {}, {}};
  }

  // Selective is the same as none if recomputation has nothing to choose from (flash attention keeps no scores).
  static bool is_same(const Plan& one, const Checked& of_one, const Plan& other, const Checked& of_other) {
    Plan alike = other;
    alike[PlanKey::kRecompute] = one[PlanKey::kRecompute];
    return alike == one && of_one.refusal.empty() && of_one.bound == of_other.bound;
  }

  // All plans: those that fit, and why the others do not.
  void sort_out() {
    std::vector<Plan> plans = filling_plans(*base_, request_.ranges);
    std::erase_if(plans, [&](const Plan& plan) { return !meets_constraints(plan); });
    search_.plans = plans.size();
    search_.packed = std::ranges::any_of(plans, [&](const Plan& plan) { return plan.ranks() < search_.device_count; });
    warn_of_values(plans);
    const std::vector<Checked> checked = check(plans);
    if (is_stopped()) return keep_given_only();
    std::map<std::string, RefusedPlans> refused;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const FoundPlan one = found_plan(plans[i], checked[i].bound);
      if (!checked[i].refusal.empty()) {
        RefusedPlans& reason = refused[without_numbers(checked[i].refusal)];
        if (reason.count++ == 0) reason.reason = checked[i].refusal, reason.first = plans[i];
      } else if (i > 0 && is_same(plans[i - 1], checked[i - 1], plans[i], checked[i])) {
        --search_.plans;
        if (one.time && !search_.found.empty() && search_.found.back().plan == plans[i - 1]) {
          search_.found.back() = one;
          search_.found.back().plan = plans[i - 1];
        }
      } else if (one.memory > search_.capacity) {
        ++search_.too_large;
        if (!search_.least_memory || one.memory < search_.least_memory->memory) search_.least_memory = one;
      } else {
        search_.found.push_back(one);
      }
    }
    for (auto& [kind, reason] : refused) search_.refused.push_back(std::move(reason));
    std::ranges::stable_sort(search_.refused, std::ranges::greater{}, &RefusedPlans::count);
    std::ranges::stable_sort(search_.found, {}, &FoundPlan::bound);
  }

  // Result of a search that was stopped before it knew what fits.
  void keep_given_only() {
    search_.knows_all = search_.is_complete = false;
    if (search_.given && is_wanted(search_.given->plan) && search_.given->memory <= search_.capacity)
      search_.found.push_back(*search_.given);
  }

  // Says so where a value that was asked for is of no plan.
  void warn_of_values(const std::vector<Plan>& plans) {
    for (std::size_t key = 0; key < kPlanKeyCount; ++key)
      for (const std::int64_t value : request_.ranges[key])
        if (std::ranges::none_of(plans, [&](const Plan& plan) { return plan.values[key] == value; }))
          search_.warnings.push_back(
              {Severity::kWarning,
               {request_.file},
               fmt::format("no plan that fills the {} has {} {}", search_.devices, name_of(static_cast<PlanKey>(key)),
                           value_text(static_cast<PlanKey>(key), value)),
               ""});
  }

  // Leaves the plan as it is where there is no answer now.
  void simulate(FoundPlan& found, Points::Ask& ask) {
    experiments_.with([&](experiment::Experiment& experiment) {
      experiment.jobs.front().workload.training = with_plan(training_of(*base_), found.plan);
      Diagnostics diagnostics;
      Point point;
      const std::string key = fmt::format("{}-{}", key_, fmt::join(found.plan.values, "-"));
      if (!evaluate(ask, key, {"search", request_.file, {}, true}, experiment, diagnostics, point)) return;
      if (!point.ran()) {
        found.refusal = point.is_stuck() ? "the job cannot finish" : point.refusal.front().message;
        return;
      }
      found.time = point.figures->iteration_time;
      found.values = point.figures->values;
      found.parts = point.figures->parts;
    });
  }

  // The plan of the experiment itself, to tell how far it is from the best.
  void simulate_given() {
    if (search_.given_refusal) return;
    const workload::TrainingSpec& training = training_of(*base_);
    if (!fills(*base_, training.parallel)) {
      const std::string devices = counted(base_->fabric.device_count(), "device");
      const auto ranks = static_cast<std::uint64_t>(training.parallel.ranks());
      search_.given_refusal = ranks == 1 ? "it has no degrees of parallelism for the " + devices
                                         : fmt::format("it has {} for {}", counted(ranks, "rank"), devices);
      return;
    }
    if (const std::string refusal = refusal_of(training); !refusal.empty()) {
      search_.given_refusal = refusal;
      return;
    }
    const experiment::PlanBounds::Bound bound = experiment::PlanBounds(*base_).of(training, search_.capacity);
    FoundPlan given = found_plan(plan_of(training), bound);
    const bool is_known = points_.take_first("plans", 1, [&](std::size_t, Points::Ask& ask) { simulate(given, ask); });
    if (!is_known && !is_stopped()) throw PointsMissing();
    if (given.time)
      search_.given = std::move(given);
    else
      search_.given_refusal = given.refusal.empty() ? "the search was stopped" : given.refusal;
  }

  // The time that a plan has to beat to be among the best.
  std::optional<Duration> time_to_beat() const {
    std::vector<Duration> times;
    for (const FoundPlan& one : search_.found)
      if (one.time) times.push_back(*one.time);
    if (times.size() < search_.asked) return std::nullopt;
    std::ranges::nth_element(times, times.begin() + static_cast<long>(search_.asked) - 1);
    return times[search_.asked - 1];
  }

  static bool is_tried(const FoundPlan& plan) { return plan.time || !plan.refusal.empty(); }

  bool may_matter(const FoundPlan& plan, const std::optional<Duration>& beat) const {
    if (request_.simulates_all || !search_.bounds_hold || !beat || plan.bound <= *beat) return true;
    return request_.ranks_given && search_.given && plan.bound < *search_.given->time;
  }

  // Plans left that may change the result, best bound first.
  std::vector<FoundPlan*> promising() {
    const std::optional<Duration> beat = time_to_beat();
    std::vector<FoundPlan*> plans;
    for (FoundPlan& plan : search_.found)
      if (!is_tried(plan) && std::ranges::find(awaited_, &plan) == awaited_.end() && may_matter(plan, beat))
        plans.push_back(&plan);
    std::ranges::stable_sort(plans, {}, &FoundPlan::bound);
    return plans;
  }

  // Plans next to that of the experiment which may be faster, best bound first.
  std::vector<FoundPlan*> neighbours() {
    if (!search_.given) return {};
    std::vector<FoundPlan*> plans = promising();
    std::erase_if(plans, [&](const FoundPlan* plan) {
      return plan->bound >= *search_.given->time || !are_neighbours(plan->plan, search_.given->plan);
    });
    return plans;
  }

  void refine(FoundPlan& plan) {
    if (std::exchange(plan.is_refined, true)) return;
    bounds_.with([&](experiment::PlanBounds& bounds) {
      plan.bound = bounds.refined(with_plan(training_of(*base_), plan.plan), plan.bound);
    });
  }

  // Plans of `chosen()`, best bound first, of which the first `most` have refined bounds, so that no other comes before
  // them.
  template <typename Chosen>
  std::vector<FoundPlan*> refined(std::size_t most, const Chosen& chosen) {
    for (;;) {
      std::vector<FoundPlan*> plans = chosen(), rough;
      for (FoundPlan* plan : std::span(plans).first(std::min(most, plans.size())))
        if (!plan->is_refined) rough.push_back(plan);
      if (rough.empty() || is_stopped()) return plans;
      in_parallel(rough.size(), points_.jobs(), [&](std::size_t i) { refine(*rough[i]); });
    }
  }

  // Simulates the first of `plans`, as many as `most` and the rest of the budget allow. A part goes on without the
  // answers that are others' and not there yet: it simulates what a search that knows them would, and some more.
  void simulate(std::vector<FoundPlan*> plans, std::size_t most) {
    plans.resize(std::min({plans.size(), most, left_}));
    left_ -= plans.size();
    awaited_.insert(awaited_.end(), plans.begin(), plans.end());
    std::vector<std::size_t> numbers;
    for (const FoundPlan* plan : awaited_) numbers.push_back(static_cast<std::size_t>(plan - search_.found.data()));
    points_.take_next("plans", numbers, std::min(promising().size(), left_),
                      [&](std::size_t i, Points::Ask& ask) { simulate(*awaited_[i], ask); });
    for (const FoundPlan* plan : awaited_)
      if (plan->time && plan->bound > *plan->time) search_.bounds_hold = false;
    std::erase_if(awaited_, [](const FoundPlan* plan) { return is_tried(*plan); });
  }

  void simulate() {
    points_.begin();
    if (search_.given) refine(*search_.given);
    for (FoundPlan& plan : search_.found)
      if (plan.time) refine(plan);
    left_ = request_.budget.value_or(search_.found.size());
    if (request_.budget) simulate(refined(kNeighbours, [&] { return neighbours(); }), std::min(kNeighbours, left_ / 2));
    std::vector<FoundPlan*> plans;
    for (;;) {
      const std::size_t most = time_to_beat() ? kRound : std::max(search_.asked, kRound);
      plans = refined(most, [&] { return promising(); });
      if (plans.empty() || left_ == 0 || is_stopped()) break;
      simulate(std::move(plans), most);
    }
    if (!awaited_.empty() && !is_stopped()) throw PointsMissing();
    search_.is_complete = awaited_.empty() && (plans.empty() || left_ == 0);
    search_.spent_budget = search_.is_complete && !plans.empty();
  }

  // The simulated ones first, by their times, then those that are left by their bounds; the others are counted.
  void put_in_order() {
    std::vector<FoundPlan>& found = search_.found;
    for (const FoundPlan& one : found)
      if (!one.refusal.empty()) refuse(one);
    std::erase_if(found, [](const FoundPlan& one) { return !one.refusal.empty(); });
    const auto left =
        std::stable_partition(found.begin(), found.end(), [](const FoundPlan& one) { return one.time.has_value(); });
    std::stable_sort(found.begin(), left, [](const FoundPlan& a, const FoundPlan& b) { return *a.time < *b.time; });
    std::stable_sort(left, found.end(), [](const FoundPlan& a, const FoundPlan& b) { return a.bound < b.bound; });
    search_.simulated = static_cast<std::size_t>(left - found.begin());
  }

  void refuse(const FoundPlan& plan) {
    if (failure_.empty()) failure_ = plan.refusal;
    const std::string kind = without_numbers(plan.refusal);
    const auto known = std::ranges::find_if(
        search_.refused, [&](const RefusedPlans& one) { return without_numbers(one.reason) == kind; });
    if (known != search_.refused.end())
      ++known->count;
    else
      search_.refused.push_back({1, plan.refusal, plan.plan});
  }

  // " with tensor 3": what was asked for.
  std::string ranges_text() const {
    std::string text;
    for (std::size_t key = 0; key < kPlanKeyCount; ++key) {
      std::vector<std::string> values;
      for (const std::int64_t value : request_.ranges[key])
        values.push_back(value_text(static_cast<PlanKey>(key), value));
      if (!values.empty())
        text += fmt::format("{} {} {}", text.empty() ? " with" : " and", name_of(static_cast<PlanKey>(key)),
                            fmt::join(values, " or "));
    }
    for (const Constraint& one : request_.where)
      text += fmt::format("{} {}", text.empty() ? " with" : " and", printable(one.text(), 80));
    return text;
  }

  [[noreturn]] void refuse_all() const {
    if (search_.plans == 0)
      throw InputError({request_.file}, fmt::format("no plan fills the {}{}", search_.devices, ranges_text()),
                       "give --vary, --fix or --where other values, or take another number of nodes");
    if (!failure_.empty()) throw InputError({request_.file}, failure_);
    if (search_.least_memory) {
      Problem problem{Severity::kError,
                      {request_.file},
                      fmt::format("none of {} plans fits {} of memory; the least that one needs is {}", search_.plans,
                                  rounded(search_.capacity), rounded(search_.least_memory->memory)),
                      "more devices, a larger --max-memory, or values that --vary or --fix leaves out"};
      problem.out_of_memory = true;
      throw InputError(std::vector<Problem>{std::move(problem)});
    }
    throw InputError(
        {request_.file},
        fmt::format("none of {} plans is feasible; most: {}", search_.plans, search_.refused.front().reason),
        "another number of nodes, another batch size, or other values of --vary or --fix");
  }

  const SearchRequest& request_;
  const ConfigFiles& files_;
  Points& points_;
  std::string key_;                    // of all plans
  std::vector<std::string> settings_;  // of all plans
  std::vector<std::string> dropped_;   // what of the experiment's own plan they do without
  Pool<experiment::Experiment> experiments_;
  std::unique_ptr<experiment::Experiment> base_;
  Pool<experiment::PlanBounds> bounds_{[this] { return experiment::PlanBounds(*base_); }};
  std::string failure_;              // of the first simulation that failed
  std::size_t left_ = 0;             // of the budget
  std::vector<FoundPlan*> awaited_;  // that were taken and have no answer yet
  Search search_;
};

}  // namespace

Search search_plans(const SearchRequest& request, Points& points, const ConfigFiles& files) {
  ORRERY_ASSERT(request.best > 0);
  return Searcher(request, points, files).take();
}

}  // namespace orrery::study
