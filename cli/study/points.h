// SPDX-License-Identifier: MIT
// The points of a command (study/points/points.h) as its options say: kept in the folder of --out, by parts, as a job
// array of Slurm, with progress, until they are all there or somebody stops it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "cli/output.h"
#include "cli/point_options.h"
#include "cli/session.h"
#include "core/files/interruption.h"
#include "study/launch/array.h"
#include "study/points/points.h"

namespace orrery::cli {

// InputError where options of points do not go together, or not with the command's file (none: "") or folder.
void check_points(const PointOptions& options, const std::string& file, const Session& session);

// Texts about points that only the command knows.
struct PointTexts {
  // Called when the study was stopped, before that is told; returns what is added to "error: interrupted".
  std::function<std::string()> when_stopped{};
  // Returns what a part adds to "shard 1 of 4: 10 of 40 points".
  std::function<std::string()> of_part{};
};

// Extent of an orderly end on Ctrl-C: only where the command's points are kept, or always.
enum class Stopping : std::uint8_t { kWhereKept, kAlways };

class RunningPoints {
 public:
  // Removes what is kept where --fresh says so. The options have passed check_points().
  RunningPoints(const PointOptions& options, const Session& session, Stopping stopping = Stopping::kWhereKept);

  study::Points& points() { return points_; }
  Progress& progress() { return progress_; }

  // Runs a study of these points, which may throw study::PointsMissing. Returns nothing when it has all its points;
  // otherwise tells why it has not, and returns the exit code.
  std::optional<int> run(const std::function<void()>& study, const PointTexts& texts = {});

 private:
  // A part of the points: number `part` of `parts`, from 0 on.
  struct Shard {
    std::size_t part = 0;
    std::size_t parts = 1;
  };
  static Shard read_shard(const std::string& text);

  study::PointsOptions options_for_points(Stopping stopping);
  bool is_interrupted() const { return interruption_ && interruption_->came(); }
  bool has_all(const std::function<void()>& study);
  std::size_t results_of_others(std::size_t missing, std::size_t all) const;
  void follow(const study::AwaitedPoints& awaited) const;
  void wait_for_slurm(const study::AwaitedPoints& awaited);
  int end_part(const PointTexts& texts) const;
  [[noreturn]] void refuse_missing() const;
  void tell_kept() const;
  void tell_found(std::size_t total);
  void clean_up();
  const std::string& out() const { return session_.outputs.out; }

  const PointOptions& choice_;
  const Session& session_;
  const std::optional<Shard> shard_;
  std::optional<Interruption> interruption_;
  std::optional<study::PointStore> store_;
  std::optional<study::ArrayWatch> array_;
  std::size_t tasks_ = 0;  // of it
  bool told_found_ = false;
  Progress progress_;
  study::Points points_;
};

}  // namespace orrery::cli
