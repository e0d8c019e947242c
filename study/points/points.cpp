// SPDX-License-Identifier: MIT
#include "study/points/points.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <nlohmann/json.hpp>

#include "core/assert.h"
#include "core/files/input_files.h"
#include "core/in_parallel.h"
#include "core/sha256.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

// Ends a simulation whose result nobody waits for any more.
struct Stopped {};

std::vector<Problem> with_severity(std::span<const Problem> problems, Severity severity) {
  std::vector<Problem> chosen;
  std::ranges::copy_if(problems, std::back_inserter(chosen),
                       [&](const Problem& problem) { return problem.severity == severity; });
  return chosen;
}

}  // namespace

// Points that are taken together. Every index is written by one thread at a time.
struct Points::List {
  std::string_view what;
  std::span<const std::size_t> numbers;
  std::size_t left = 0;
  const Work& work;
  Sharing sharing;
  std::span<const double> efforts{};                                         // empty: all alike
  std::vector<std::string> keys = std::vector<std::string>(numbers.size());  // empty: refused as it was read
  std::vector<char> has_answer = std::vector<char>(numbers.size());

  double effort(std::size_t index) const { return efforts.empty() ? 1 : efforts[index]; }
};

bool Points::Ask::answer(const std::string& key, const std::function<Json()>& simulate,
                         const std::function<void(const Json&)>& take) {
  key_ = key;
  PointStore* const store = points_.options_.store;
  was_found_ = store != nullptr && store->find(key, take);
  return was_found_ || answer_anew(key, simulate, take);
}

bool Points::Ask::answer_anew(const std::string& key, const std::function<Json()>& simulate,
                              const std::function<void(const Json&)>& take) {
  PointStore* const store = points_.options_.store;
  was_found_ = has_answer_ = false;
  if (!simulates_) return false;
  Json found;
  try {
    found = simulate();
  } catch (const Stopped&) {  // as if it had not begun
    return false;
  }
  try {
    if (store != nullptr) store->keep(key, found);
  } catch (...) {
    points_.has_failed_ = true;
    throw;
  }
  take(found);
  has_answer_ = true;
  return true;
}

experiment::RunProgress Points::Ask::progress() const {
  return [&points = points_, is_only = is_only_](std::string_view what, std::uint64_t done, std::uint64_t total) {
    if (points.is_stopped()) throw Stopped();
    if (is_only) points.progress(what, done, total);
  };
}

void Points::Ask::one_at_a_time(const std::function<void()>& tell) {
  const std::lock_guard lock(points_.mutex_);
  try {
    tell();
  } catch (...) {
    points_.has_failed_ = true;
    throw;
  }
}

bool Points::is_own(std::size_t number, Sharing sharing) const {
  return sharing == Sharing::kFirst || sharing == Sharing::kLast || number % options_.parts == options_.part;
}

bool Points::simulates(std::size_t number, Sharing sharing) const {
  if (sharing == Sharing::kLast) return true;
  return is_own(number, sharing) && !options_.only_known && !options_.wait_for_others;
}

void Points::work_on(List& list, std::size_t index) {
  if (has_failed_ || is_stopped()) return;
  if (list.sharing == Sharing::kParts && !is_own(list.numbers[index], list.sharing)) return;
  const bool is_only = list.numbers.size() == 1 && list.left == 0;
  Ask ask(*this, simulates(list.numbers[index], list.sharing), is_only);
  list.work(index, ask);
  list.keys[index] = std::move(ask.key_);
  if (!ask.has_answer_) return;
  list.has_answer[index] = true;
  const std::lock_guard lock(mutex_);
  ++answered_;
  if (!is_own(list.numbers[index], list.sharing)) return;
  ++done_;
  if (ask.was_found_) ++found_;
  (ask.was_found_ ? effort_ : effort_done_) += ask.was_found_ ? -list.effort(index) : list.effort(index);
  if (!is_only) progress(list.what, done_, wanted_, effort_ > 0 ? effort_done_ / effort_ : 1);
}

void Points::wait_for_others(List& list) {
  Sha256 fingerprint;
  for (const std::string& key : list.keys) fingerprint.add(key + "\n");
  const auto look = [&] {
    const std::set<std::string> there = options_.store->keys();
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < list.numbers.size(); ++i) {
      if (!list.has_answer[i] && there.contains(list.keys[i])) work_on(list, i);
      if (!list.has_answer[i]) missing.push_back(list.numbers[i]);
    }
    return missing;
  };
  try {
    options_.wait_for_others({list.numbers.size() + list.left, list.left > 0 || list.sharing == Sharing::kFirst,
                              fingerprint.finish(), look});
  } catch (...) {
    has_failed_ = true;
    throw;
  }
}

bool Points::take(List& list) {
  const auto own = std::ranges::count_if(list.numbers, [&](auto number) { return is_own(number, list.sharing); });
  wanted_ = done_ + static_cast<std::size_t>(own) + list.left / options_.parts;
  left_ = list.left;
  effort_ = effort_done_ + static_cast<double>(list.left / options_.parts);
  for (std::size_t i = 0; i < list.numbers.size(); ++i)
    if (is_own(list.numbers[i], list.sharing)) effort_ += list.effort(i);
  if (list.numbers.size() + list.left > 1) progress(list.what, done_, wanted_, effort_done_ / std::max(effort_, 1e-9));
  in_parallel(list.numbers.size(), options_.jobs, [&](std::size_t index) { work_on(list, index); });
  const auto has_all = [&] { return std::ranges::find(list.has_answer, char{false}) == list.has_answer.end(); };
  if (options_.wait_for_others && list.sharing != Sharing::kLast && !has_all() && !is_stopped()) wait_for_others(list);
  missing_.clear();
  for (std::size_t i = 0; i < list.numbers.size(); ++i)
    if (!list.has_answer[i]) missing_.push_back(list.numbers[i]);
  if (!missing_.empty() && missing_before_ == 0) first_missing_ = std::ranges::min(missing_);
  return missing_.empty();
}

void Points::begin() {
  missing_before_ += missing_.size();
  missing_.clear();
}

bool Points::take_list(std::string_view what, std::size_t count, const Work& work, Sharing sharing,
                       std::span<const double> efforts) {
  begin();
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  List list{what, numbers, 0, work, sharing, efforts};
  return take(list);
}

bool Points::take(std::string_view what, std::size_t count, const Work& work, std::span<const double> efforts) {
  return take_list(what, count, work, Sharing::kParts, efforts);
}

void Points::take_all(std::string_view what, std::size_t count, const Work& work) {
  if (!take(what, count, work)) throw PointsMissing();
}

bool Points::take_first(std::string_view what, std::size_t count, const Work& work) {
  return take_list(what, count, work, Sharing::kFirst);
}

void Points::take_last(std::string_view what, std::size_t count, const Work& work) {
  if (!take_list(what, count, work, Sharing::kLast)) throw PointsMissing();
}

bool Points::take_next(std::string_view what, std::span<const std::size_t> numbers, std::size_t left,
                       const Work& work) {
  List list{what, numbers, left, work, Sharing::kPartsWithLook};
  return take(list);
}

namespace {

// Answer of a simulation.
struct Answer {
  Point point;
  Json document;  // null unless it was asked for
};

// The answer as it is kept.
Json kept(Answer answer) { return {{"point", to_json(answer.point)}, {"result", std::move(answer.document)}}; }

// `diagnostics`: of reading the experiment.
Answer simulate(const experiment::Experiment& experiment, const PointQuestion& question, experiment::RunFigures figures,
                Diagnostics diagnostics, const experiment::RunProgress& progress, bool has_result) {
  Answer answer;
  Point& point = answer.point;
  try {
    const report::Result result = experiment::run_experiment(experiment, question.allow_oom, diagnostics, progress,
                                                             has_result ? experiment::RunFigures{} : figures)
                                      .result;
    point.figures = figures_of(result);
    if (has_result) answer.document = report::to_json(result, true);
  } catch (const InputError& error) {
    const InputError here = located(error, question.file);
    point.refusal.assign(here.problems().begin(), here.problems().end());
  } catch (const StuckError& error) {
    point.stuck = error.what();
    point.stuck_rank = error.rank();
    point.stuck_node = error.node();
  }
  point.warnings = with_severity(diagnostics.problems(), Severity::kWarning);
  return answer;
}

}  // namespace

bool evaluate(Points::Ask& ask, const std::string& key, const PointQuestion& question,
              const experiment::Experiment& experiment, const Diagnostics& diagnostics, Point& point, Json* result) {
  const auto simulated = [&](experiment::RunFigures figures) {
    return simulate(experiment, question, figures, diagnostics, ask.progress(), result != nullptr);
  };
  const auto again = [&](const Point& first) {
    return question.again && first.ran() ? question.again(first) : std::nullopt;
  };
  const auto take = [&](const Json& answer) {
    point = point_of(answer.at("point"));
    if (result != nullptr) *result = answer.at("result");
  };
  bool is_new = false;  // asked again by now
  const auto simulate_all = [&] {
    Answer answer = simulated(question.figures);
    if (const auto figures = again(answer.point)) answer = simulated(*figures);
    is_new = true;
    return kept(std::move(answer));
  };
  if (!ask.answer(key, simulate_all, take)) return false;
  if (is_new) return true;
  const auto figures = again(point);
  return !figures || ask.answer_anew(
                         key, [&] { return kept(simulated(*figures)); }, take);
}

bool evaluate(Points::Ask& ask, const PointQuestion& question, Point& point, Json* result) {
  Diagnostics diagnostics;
  std::optional<experiment::Experiment> experiment;
  std::string key;
  try {
    std::optional<NotedFiles> named(std::in_place);
    experiment.emplace(question.read(diagnostics));
    experiment->made_jobs = &ask.made_jobs();
    const std::vector<std::string> files = named->paths();
    named.reset();
    if (ask.is_kept()) key = key_of(question.name + (question.allow_oom ? ", any memory" : ""), *experiment, files);
  } catch (const InputError& error) {
    const InputError here = located(error, question.file);
    point.refusal.assign(here.problems().begin(), here.problems().end());
    return true;
  }
  return evaluate(ask, key, question, *experiment, diagnostics, point, result);
}

}  // namespace orrery::study
