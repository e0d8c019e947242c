// SPDX-License-Identifier: MIT
#include "study/launch/array.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "core/config/quantity_text.h"
#include "core/error.h"
#include "core/files/read_file.h"

namespace orrery::study {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Results are looked for often at the beginning, later so that little of the time goes by unseen. Slurm is asked more
// seldom, since many ask one controller.
constexpr milliseconds kFirstLook = milliseconds(200), kLastLook = seconds(2);
constexpr milliseconds kFirstQuery = milliseconds(500), kLastQuery = seconds(5);
constexpr seconds kPatience = seconds(600);
constexpr seconds kWaiting = seconds(3);  // before it is told
constexpr std::size_t kLogLines = 10;

// The last lines of a task's log, as far as they are few.
std::string last_lines(const std::string& file) {
  constexpr std::size_t kMost = 4096;
  const std::optional<std::string> text = ending_of_file(file, kMost);
  if (!text) return "  (there is none)";
  std::vector<std::string> lines;
  std::istringstream in(*text);
  for (std::string line; std::getline(in, line);) lines.push_back("  " + printable(line, 400));
  if (lines.empty()) return "  (it is empty)";
  if (lines.size() > kLogLines) lines.erase(lines.begin(), lines.end() - kLogLines);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

class WatchedArray {
 public:
  WatchedArray(const SlurmArray& array, std::size_t retries, const ArrayWork& work)
      : array_(array), retries_(retries), work_(work) {}

  bool run() {
    look();
    if (nothing_missing()) return true;
    tasks_.resize(missing_.size());
    adopt(tasks_of(array_.name));
    if (work_.is_stopped()) return stop();
    submit_missing();
    try {
      return watch();
    } catch (const InputError&) {  // as of a full disk; the tasks could do nothing of use any more
      try_cancel();
      throw;
    }
  }

 private:
  struct Task {
    std::string job;  // the last one
    bool is_under_way = false;
    bool is_adopted = false;   // how long it has run before, and on what, nobody knows
    std::size_t missing = 0;   // when it was submitted
    std::size_t failures = 0;  // one after the other
  };

  bool watch() {
    for (auto asked = Clock::now();; std::this_thread::sleep_for(part_of_time(20, kFirstLook, kLastLook))) {
      look();
      if (nothing_missing()) break;
      if (work_.is_stopped()) return stop();
      if (Clock::now() - asked < part_of_time(10, kFirstQuery, kLastQuery)) continue;
      query();
      asked = Clock::now();
    }
    if (!alive_.empty()) try_cancel();  // whatever they do is done
    return true;
  }

  // Of the time since the last submission, within limits.
  milliseconds part_of_time(int divisor, milliseconds least, milliseconds most) const {
    return std::clamp(std::chrono::duration_cast<milliseconds>((Clock::now() - begun_) / divisor), least, most);
  }
  void look() { missing_ = work_.collect(); }
  bool nothing_missing() const {
    return std::ranges::all_of(missing_, [](std::size_t count) { return count == 0; });
  }
  bool given_up(const Task& task) const { return task.failures > retries_; }

  void adopt(std::vector<SlurmTask> alive) {
    alive_ = std::move(alive);
    for (const SlurmTask& found : alive_)
      if (found.index < tasks_.size()) tasks_[found.index] = {found.job, true, true, missing_[found.index]};
    if (!alive_.empty())
      work_.tell(fmt::format("{} of job {} wait or run already", counted(alive_.size(), "task"), alive_.front().job));
  }

  void submit_missing() {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (missing_[i] > 0 && !tasks_[i].is_under_way && !given_up(tasks_[i])) chosen.push_back(i);
    if (chosen.empty()) return;
    const std::string job = submit(array_, chosen);
    for (const std::size_t i : chosen) {
      tasks_[i].job = job;
      tasks_[i].is_under_way = true;
      tasks_[i].is_adopted = false;
      tasks_[i].missing = missing_[i];
    }
    work_.tell(fmt::format("submitted {} to Slurm as job {}", counted(chosen.size(), "task"), job));
    begun_ = Clock::now();
  }

  // A controller that restarts does not answer for a while.
  void query() {
    try {
      alive_ = tasks_of(array_.name);
      look();  // what has ended has written all before
      take_ended();
      submit_missing();
      answered_ = Clock::now();
      told_silence_ = false;
    } catch (const InputError& error) {
      if (error.problems().front().where.file != "squeue" && error.problems().front().where.file != "sbatch") throw;
      if (Clock::now() - answered_ > kPatience) throw;
      if (!told_silence_) work_.tell(fmt::format("Slurm does not answer, which is tried again: {}", error.what()));
      told_silence_ = true;
      return;
    }
    tell_waiting();
    const bool any_under_way = std::ranges::any_of(tasks_, &Task::is_under_way);
    if (!any_under_way && !nothing_missing()) fail();
  }

  void take_ended() {
    std::vector<bool> is_alive(tasks_.size());
    for (const SlurmTask& found : alive_)
      if (found.index < is_alive.size()) is_alive[found.index] = true;
    std::vector<std::size_t> ended;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      Task& task = tasks_[i];
      if (!task.is_under_way || is_alive[i]) continue;
      task.is_under_way = false;
      if (missing_[i] == 0) continue;
      if (missing_[i] < task.missing)
        task.failures = 0;
      else if (!task.is_adopted)
        ++task.failures;
      ended.push_back(i);
    }
    if (!ended.empty()) tell_ended(ended);
  }

  void tell_ended(const std::vector<std::size_t>& ended) {
    const std::size_t first = ended.front();
    const std::string end = end_of(tasks_[first].job, first);
    work_.tell(fmt::format("{} ended before {} points were done; the first is task {} of job {}{}",
                           counted(ended.size(), "task"), ended.size() > 1 ? "their" : "its", first, tasks_[first].job,
                           end.empty() ? std::string() : fmt::format(" ({})", end)));
  }

  // Why nothing moves, which the queue knows.
  void tell_waiting() {
    const bool all_wait = !alive_.empty() && std::ranges::all_of(alive_, &SlurmTask::waits);
    if (!all_wait) {
      waiting_since_.reset();
      return;
    }
    if (!waiting_since_) waiting_since_ = Clock::now();
    const std::string& reason = alive_.front().reason;
    if (Clock::now() - *waiting_since_ < kWaiting || reason == told_reason_ || reason == "None") return;
    told_reason_ = reason;
    work_.tell(fmt::format("{} {}: {}", counted(alive_.size(), "task"), alive_.size() > 1 ? "wait" : "waits",
                           printable(reason)));
  }

  [[noreturn]] void fail() const {
    const auto task = std::ranges::find_if(tasks_, [this](const Task& one) { return given_up(one); });
    const auto index = static_cast<std::size_t>(task - tasks_.begin());
    const std::string log = log_of(array_, task->job, index);
    const std::string end = end_of(task->job, index);
    throw InputError({log},
                     fmt::format("task {} of job {} ended{} without a result, as {} in a row; its log ends with\n{}",
                                 index, task->job, end.empty() ? std::string() : fmt::format(" ({})", end),
                                 counted(task->failures, "task"), last_lines(log)),
                     fmt::format("what every task runs: {}", printable(array_.script, 4096)));
  }

  bool stop() {
    try_cancel();
    return false;
  }

  void try_cancel() {
    try {
      cancel(array_.name);
    } catch (const InputError& error) {
      work_.tell(
          fmt::format("the tasks could not be cancelled: {}; later: scancel --name={}", error.what(), array_.name));
    }
  }

  const SlurmArray& array_;
  const std::size_t retries_;
  const ArrayWork& work_;
  std::vector<std::size_t> missing_;  // of each task
  std::vector<Task> tasks_;
  std::vector<SlurmTask> alive_;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point answered_ = begun_;
  bool told_silence_ = false;
  std::optional<Clock::time_point> waiting_since_;
  std::string told_reason_;
};

}  // namespace

bool run_array(const SlurmArray& array, std::size_t retries, const ArrayWork& work) {
  return WatchedArray(array, retries, work).run();
}

std::size_t end_array(const SlurmArray& array, const std::function<bool()>& is_stopped) {
  const std::size_t found = tasks_of(array.name).size();
  if (found == 0) return 0;
  cancel(array.name);
  const auto end = Clock::now() + kPatience;
  while (!tasks_of(array.name).empty()) {
    if (is_stopped()) break;
    if (Clock::now() > end) throw InputError({"scancel"}, fmt::format("the tasks of {} have not ended", array.name));
    std::this_thread::sleep_for(kFirstQuery);
  }
  return found;
}

}  // namespace orrery::study
