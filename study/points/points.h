// SPDX-License-Identifier: MIT
// The points of a study: simulated several at a time, kept in a folder, found there again, shared among programs,
// stopped. A study says what its points are and what to print of their answers; where an answer comes from, from a
// simulation here, from a folder or from another machine, it does not see.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiment/job_cache.h"
#include "experiment/runs/run.h"
#include "study/points/point.h"
#include "study/points/store.h"

namespace orrery::study {

// Points that others are to simulate.
struct AwaitedPoints {
  std::size_t total = 0;    // of the study, as far as is known
  bool has_more = false;    // others follow, which depend on the answers to these
  std::string fingerprint;  // stands for all that the answers depend on
  // Takes the answers that have come; returns the numbers of the points that are still without one.
  std::function<std::vector<std::size_t>()> missing;
};

// Progress: what is being done, how much of it is, and the share of the work that this is, where that is known.
using PointsProgress =
    std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total, std::optional<double> share)>;

struct PointsOptions {
  unsigned jobs = 1;            // points at a time, at least 1
  PointStore* store = nullptr;  // has answers from before, and gets those of now
  bool only_known = false;      // simulates nothing
  // Simulates the points whose number leaves `part` when divided by `parts`.
  std::size_t part = 0;
  std::size_t parts = 1;
  // Says whether to begin no further point and to end those under way; any thread may ask.
  std::function<bool()> is_stopped{};
  PointsProgress progress{};
  bool is_watched = false;  // somebody sees each progress: the share of the work is worth an estimate
  // Has others simulate what the store lacks, until nothing is missing or it is stopped.
  std::function<void(const AwaitedPoints&)> wait_for_others{};
};

// Thrown where a study cannot go on: points have no answer since another program has them, or since it was stopped.
struct PointsMissing {};

class Points {
 public:
  explicit Points(PointsOptions options = {}) : options_(std::move(options)) {}
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;

  // One point, for the study that works on it.
  class Ask {
   public:
    // Calls `take` with the answer kept under the key; otherwise with that of `simulate`, which is then kept. Returns
    // false where neither is to be had now. `take` throws where it cannot read a kept answer.
    bool answer(const std::string& key, const std::function<nlohmann::ordered_json()>& simulate,
                const std::function<void(const nlohmann::ordered_json&)>& take);
    // The same where the answer that is kept under the key says too little: that of `simulate` takes its place.
    bool answer_anew(const std::string& key, const std::function<nlohmann::ordered_json()>& simulate,
                     const std::function<void(const nlohmann::ordered_json&)>& take);
    bool is_kept() const { return points_.is_kept(); }
    // Jobs that the points of the study have in common.
    experiment::JobCache& made_jobs() const { return points_.made_jobs_; }
    // Progress of the point's own simulation, which ends it when the study is stopped.
    experiment::RunProgress progress() const;
    // Calls `tell` while no other point does. What it throws ends the study.
    void one_at_a_time(const std::function<void()>& tell);

   private:
    friend class Points;
    Ask(Points& points, bool simulates, bool is_only) : points_(points), simulates_(simulates), is_only_(is_only) {}
    Points& points_;
    const bool simulates_;
    const bool is_only_;  // point of its list
    bool has_answer_ = true;
    bool was_found_ = false;
    std::string key_{};
  };
  using Work = std::function<void(std::size_t index, Ask& ask)>;

  // Works on the points 0 to count - 1 that belong to this part, several at a time, each once; `what` they are called.
  // Returns whether all points have an answer. When points throw, the others go on, and then the exception of the
  // lowest number comes out.
  // `efforts`: estimates of how long each takes, in any unit; empty: all alike.
  bool take(std::string_view what, std::size_t count, const Work& work, std::span<const double> efforts = {});
  // The same, but throws PointsMissing where a point has no answer.
  void take_all(std::string_view what, std::size_t count, const Work& work);
  // The same of points without which the others are not known: every part simulates those that it does not find.
  bool take_first(std::string_view what, std::size_t count, const Work& work);
  // The same of points that are known only once the others have their answers: whoever has these simulates them. Throws
  // PointsMissing.
  void take_last(std::string_view what, std::size_t count, const Work& work);
  // The same of points that are known bit by bit: their `numbers` are given by index, other parts' are looked for, too,
  // and `left` more may be taken later. Numbers that had no answer may be taken again. begin() comes before the first.
  bool take_next(std::string_view what, std::span<const std::size_t> numbers, std::size_t left, const Work& work);
  void begin();

  bool is_stopped() const { return options_.is_stopped && options_.is_stopped(); }
  void progress(std::string_view what, std::uint64_t done, std::uint64_t total,
                std::optional<double> share = {}) const {
    if (options_.progress) options_.progress(what, done, total, share);
  }
  // True if the estimates that take() may have are worth their time.
  bool wants_efforts() const { return options_.is_watched && !options_.only_known; }
  unsigned jobs() const { return options_.jobs; }
  bool is_kept() const { return options_.store != nullptr; }

  // Counts as far as they are known: points of this part, those of them that have an answer and that had one before;
  // points of all parts.
  std::size_t wanted() const { return wanted_; }
  std::size_t done() const { return done_; }
  std::size_t found() const { return found_; }
  std::size_t all() const { return answered_ + missing_before_ + missing_.size() + left_; }
  // Points of all parts that were taken and have no answer; the number of the first of them, where there is one.
  std::size_t missing() const { return missing_before_ + missing_.size(); }
  std::size_t first_missing() const { return first_missing_; }
  // True if results could not be kept, or others could not have them: no fault of a point.
  bool has_failed() const { return has_failed_; }

 private:
  // Sharing of a list: each part has its own points; each part has its own and looks for the others'; every part has
  // all; whoever comes that far has all.
  enum class Sharing : std::uint8_t { kParts, kPartsWithLook, kFirst, kLast };
  struct List;

  bool take_list(std::string_view what, std::size_t count, const Work& work, Sharing sharing,
                 std::span<const double> efforts = {});
  bool take(List& list);
  void work_on(List& list, std::size_t index);
  void wait_for_others(List& list);
  bool is_own(std::size_t number, Sharing sharing) const;
  bool simulates(std::size_t number, Sharing sharing) const;

  const PointsOptions options_;
  experiment::JobCache made_jobs_;
  std::mutex mutex_;  // of the counts, and of one_at_a_time()
  std::atomic<bool> has_failed_ = false;
  std::size_t wanted_ = 0, done_ = 0, found_ = 0;
  double effort_ = 0, effort_done_ = 0;  // of points of this part that had no answer before
  std::size_t answered_ = 0;             // of all parts
  std::size_t left_ = 0;                 // of the last list
  std::vector<std::size_t> missing_;     // numbers, of the last list
  std::size_t missing_before_ = 0;       // of the others
  std::size_t first_missing_ = 0;
};

// Question of a point to an experiment.
struct PointQuestion {
  std::string name;  // of the study; answers to the same question of the same experiment are the same
  std::string file;  // the place of problems that name none
  std::function<experiment::Experiment(Diagnostics&)> read;
  bool allow_oom = false;
  experiment::RunFigures figures{};  // of the point's; all where the document of the run is wanted
  // Figures to simulate a point again for that ran and whose answer says too little; nothing where it says enough.
  std::function<std::optional<experiment::RunFigures>(const Point& point)> again{};
};

// Reads the experiment and simulates it, unless its answer is kept; what is wrong with it is part of the point. Returns
// false where there is no answer now. `result` gets the document of the run, which is null of a point that did not run,
// and is kept as well.
bool evaluate(Points::Ask& ask, const PointQuestion& question, Point& point, nlohmann::ordered_json* result = nullptr);

// The same of an experiment that has been read; `key` stands for all that its answer depends on.
bool evaluate(Points::Ask& ask, const std::string& key, const PointQuestion& question,
              const experiment::Experiment& experiment, const Diagnostics& diagnostics, Point& point,
              nlohmann::ordered_json* result = nullptr);

}  // namespace orrery::study
